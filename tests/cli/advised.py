"""A topology over files that tests bring into trouble, and the commands of an error text, carried out literally."""

from __future__ import annotations

import re
import shlex
import shutil
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from copy import deepcopy
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.cli.making import SceneTopology
from tests.coordinators.fakes import ListJob, Record, Topic, make_job
from tests.coordinators.test_run import OPTIONS, run
from trident.base.crash_points import CrashPoint, armed
from trident.base.errors import FatalError
from trident.cli import app
from trident.coordinators.ledger import SqliteLedger
from trident.spouts.base import Limits, SpoutKind
from trident.state import SqliteState
from trident.state.target import State

Sums = dict[str, tuple[int, int]]

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
CURRENT: dict[str, Any] = {}
"""What the module that the command line imports looks its topology up in."""

_COMMAND = re.compile(r"trident (?:reset|undo|retry|divert|drop|forget|evolve)(?: (?:'[^']*'|[^\s;(),']+))+")
_POLICY = re.compile(r"\b(on_\w+)=(\w+\.\w+)")


class Died(BaseException):
    """The process is gone."""


def summed(records: Iterable[Record]) -> Sums:
    """Return count and sum per account: all that the expectations are made of."""
    return Topic([list(records)]).expected()


def commands_in(text: str) -> dict[str, list[str]]:
    """Return the commands of a text as words, by what a person calls them."""
    found = [shlex.split(match)[1:] for match in _COMMAND.findall(text)]
    return {_called(words): words for words in found}


def policies_in(text: str) -> dict[str, str]:
    """Return the spout's options that a text tells to set."""
    return dict(_POLICY.findall(text))


def _called(words: list[str]) -> str:
    if words[0] != "reset":
        return words[0]
    name = "moment" if "--start" in words else words[words.index("--states") + 1]
    return f"lost {name}" if "--ledger-lost" in words else name


@dataclass
class World:
    """Two states, in files of their own or beside the ledger, over a topic whose records have moments."""

    folder: Path
    apart: bool = True
    options: dict[str, Any] = field(default_factory=lambda: {"limits": Limits(max_records=100)})
    topic: Topic = field(default_factory=lambda: Topic([[], []], came={0: [], 1: []}))
    made: list[State] = field(default_factory=list)
    before: list[Record] = field(default_factory=list)
    """What came at noon, and was counted before the trouble."""
    after: list[Record] = field(default_factory=list)
    """What has come later."""

    def __post_init__(self) -> None:
        self.before = self.come(0, [(f"a{n % 5}", n + 1) for n in range(25)], 0)
        self.before += self.come(1, [("b", 1)] * 7, 0)

    def copied(self, folder: Path) -> World:
        """Return the same trouble in another folder."""
        shutil.copytree(self.folder, folder)
        copy = deepcopy(self)
        copy.folder = folder
        return copy

    def come(self, partition: int, records: list[Record], hour: int) -> list[Record]:
        """Let records come at so many hours after noon."""
        self.topic.partitions[partition] += records
        self.topic.came[partition] += [NOON + timedelta(hours=hour)] * len(records)
        return list(records)

    def more(self, hour: int = 1) -> None:
        """Let records come into both partitions that nobody has counted yet."""
        self.after += self.come(0, [("late", 3)] * 4, hour) + self.come(1, [("b", 2), ("late", 5)], hour)

    @property
    def all(self) -> Sums:
        """Every record once."""
        return summed([*self.before, *self.after])

    def states(self) -> list[State]:
        return self.made or [
            SqliteState(name, path=self.file(name) if self.apart else None) for name in ("balances", "totals")
        ]

    def file(self, name: str) -> Path:
        return self.folder / (f"{name}.sqlite" if self.apart or name == "ledger" else "ledger.sqlite")

    def job(self) -> ListJob:
        return make_job(self.topic, *self.states(), **self.options)

    def ledger(self) -> SqliteLedger:
        return SqliteLedger(self.file("ledger"))

    def run(self) -> None:
        ledger = self.ledger()
        try:
            run(self.job(), ledger, replace(OPTIONS, max_pending=1))
        finally:
            ledger.close()

    def die(self, point: CrashPoint, txid: int = 0) -> None:
        """Run until the process dies at a point."""

        def act(reached: CrashPoint, with_txid: int) -> None:
            if reached is point and with_txid >= txid:
                raise Died

        with armed(act), pytest.raises(Died):
            self.run()

    def stops(self) -> str:
        """Run into the trouble, twice; returns what is said."""
        texts = []
        for _ in range(2):
            with pytest.raises(FatalError) as error:
                self.run()
            texts.append(str(error.value))
        assert commands_in(texts[0]) == commands_in(texts[1]), "it says the same at each start"
        return texts[0]

    def rows(self, state: str) -> Sums:
        with closing(sqlite3.connect(self.file(state))) as connection:
            found = connection.execute(f"SELECT account, n, total FROM {state}")
            return {row[0]: (row[1], row[2]) for row in found}

    def sums(self) -> dict[str, Sums]:
        return {name: self.rows(name) for name in ("balances", "totals")}

    def has_table(self, name: str) -> bool:
        with closing(sqlite3.connect(self.file(name))) as connection:
            return bool(connection.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (name,)).fetchall())

    def by_hand(self, name: str, *statements: str) -> None:
        with closing(sqlite3.connect(self.file(name))) as connection, connection:
            for statement in statements:
                connection.execute(statement)

    def lose_position(self, *states: str) -> None:
        """Take away what says how far the states' rows have read."""
        for name in states:
            self.by_hand(name if self.apart else "ledger", f"DELETE FROM trident_applied WHERE state = '{name}'")

    def drop_tables(self, name: str, but: Iterable[str]) -> None:
        with closing(sqlite3.connect(self.file(name))) as connection:
            found = [row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        self.by_hand(name, *(f'DROP TABLE "{table}"' for table in found if table not in but))

    def lose(self, name: str) -> None:
        """Take a file away."""
        for left in self.folder.glob(f"{name}.sqlite*"):
            left.unlink()

    def back_up(self, name: str) -> None:
        backup = self.folder / f"backup of {name}"
        with closing(sqlite3.connect(self.file(name))) as source, closing(sqlite3.connect(backup)) as kept:
            source.backup(kept)

    def restore(self, name: str) -> None:
        self.lose(name)
        shutil.copy(self.folder / f"backup of {name}", self.file(name))

    def transactional(self) -> None:
        self.options["kind"] = SpoutKind.TRANSACTIONAL


def carry_out(job_maker: Any, folder: Path, words: list[str], placeholders: dict[str, str]) -> int:
    """Run a command as it stands in the text, but for its placeholders, the ledger's address and the yes."""
    CURRENT["topology"] = job_maker
    module = folder / "advised_module.py"
    module.write_text(
        "from tests.cli.advised import CURRENT, SceneTopology\ntopology = SceneTopology(CURRENT['topology'])\n"
    )
    known = {"MODULE:TOPOLOGY": f"{module}:topology", **placeholders}
    given = [known.get(word, word) for word in words]
    assert not {"MODULE:TOPOLOGY", "MOMENT", "STATE", "TXID"} & {*given}, "a placeholder that nobody can fill in"
    return app.run([*given, "--ledger", str(folder / "ledger.sqlite"), "--yes"])


__all__ = ["CURRENT", "NOON", "Died", "SceneTopology", "World", "carry_out", "commands_in", "policies_in", "summed"]
