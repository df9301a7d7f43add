"""A folder of files read by the real coordinator, ledger, catalogue and tasks' functions, without Spark."""

from __future__ import annotations

import os
import sqlite3
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.types import LongType, StringType, StructField, StructType

from tests.cli.advised import carry_out
from tests.coordinators.fakes import LAYOUT
from tests.coordinators.test_run import OPTIONS
from trident.base.control import CONTROL, BadRecordWord, decode
from trident.base.errors import FatalError
from trident.base.identity import BatchId
from trident.base.ranges import RangeManifest
from trident.coordinators.batches.processor import ProcessRequest, ProcessResult
from trident.coordinators.holding.run import RunnableTopology, RunSummary, TopologyRun
from trident.coordinators.ledger import SqliteLedger
from trident.coordinators.pinned import DeadLetter
from trident.coordinators.registered import TopologySpec
from trident.spouts import FileSpout
from trident.spouts.base import Source
from trident.spouts.files.csv_lines import CsvTaskDecoder
from trident.spouts.files.source import FileSource
from trident.spouts.files.task import ReadLines
from trident.state import SqliteState
from trident.state.staged import HeldUpdates

FIELDS = StructType([StructField("account", StringType()), StructField("amount", LongType())])
HEADER = "account,amount\n"
_SECONDS = count(1_700_000_000)
Meddle = Callable[[ProcessRequest], None]


def put(folder: Path, name: str, text: str, *, second: int | None = None) -> Path:
    """Put a file into the folder whole, with a time that no other one has."""
    folder.mkdir(exist_ok=True)
    made = folder / f"{name}.tmp"
    made.write_text(text)
    at = next(_SECONDS) if second is None else second
    os.utime(made, (at, at))
    return made.rename(folder / name)


def lines(*accounts: str, header: str = HEADER) -> str:
    """Return a file in which each of these accounts gets 1."""
    return header + "".join(f"{account},1\n" for account in accounts)


@dataclass
class FileEngine:
    """Runs the function of reading tasks in this process, and counts per account."""

    sources: Mapping[str, Source]
    states: tuple[str, ...]
    meddle: Meddle
    required: tuple[str, ...] = ()

    def process(self, request: ProcessRequest) -> ProcessResult:
        """Read what an attempt is given; `meddle` comes after that."""
        ((stream, edges),) = request.edges.items()
        source = self.sources[stream]
        assert isinstance(source, FileSource)
        decoder = CsvTaskDecoder(FIELDS, ",", required=self.required)
        task = ReadLines(str(source._folder.path), source._files(edges, 1), decoder, has_header=True)
        sums: Counter[str] = Counter()
        manifests, bad = [], []
        for rows in task(iter([pa.record_batch({"id": pa.array([0], pa.int64())})] if edges else [])):
            for row in rows.to_pylist():
                word = None if row[CONTROL] is None else decode(row[CONTROL])
                if isinstance(word, RangeManifest):
                    manifests.append((stream, word))
                elif isinstance(word, BadRecordWord):
                    bad.append(DeadLetter(stream, word.record))
                else:
                    sums[row["account"]] += row["amount"]
        self.meddle(request)
        columns: list[list[Any]] = [list(sums), [1] * len(sums), list(sums.values())]
        table = pa.table(dict(zip(LAYOUT.schema().names, columns, strict=True)), schema=LAYOUT.schema())
        return ProcessResult(tuple(manifests), tuple(bad), {state: HeldUpdates(table) for state in self.states})

    def cancel(self, batch: BatchId) -> None:
        """Do nothing: it is one thread."""


def _leave(_: ProcessRequest) -> None:
    pass


@dataclass
class FileJob:
    """A topology that counts how often each account is in the files of a folder."""

    home: Path
    """Where its ledger is, and its state."""
    at: Path | None = None
    """Its folder of files, where several topologies read one."""
    most: int | None = None
    partitions: int = 1
    on_bad_record: str = "fail"
    apart: bool = False
    meddle: Meddle = _leave
    required: tuple[str, ...] = ()

    @property
    def folder(self) -> Path:
        return self.at or self.home / "in"

    @property
    def file(self) -> Path:
        return self.home / "ledger.sqlite"

    def spout(self) -> FileSpout:
        return FileSpout(
            self.folder,
            "account string, amount bigint",
            format="csv",
            partitions=self.partitions,
            max_bytes_per_batch=self.most,
            on_bad_record=self.on_bad_record,  # type: ignore[arg-type]
        )

    def state(self) -> SqliteState:
        return SqliteState("sums", path=self.home / "state.sqlite" if self.apart else None)

    def ledger(self) -> SqliteLedger:
        return SqliteLedger(self.file)

    def job(self) -> FileJob:
        """Return itself: what a command that is carried out asks for."""
        return self

    def plan(self) -> RunnableTopology:
        spout, state = self.spout(), self.state()
        return RunnableTopology(
            TopologySpec("payments", {"s": spout.description()}, {"sums": state.description()}),
            {"s": spout},
            {"sums": partial(state.open, LAYOUT)},
            lambda sources, _: FileEngine(sources, ("sums",), self.meddle, self.required),
        )

    def run(self) -> RunSummary:
        """Read all that is there."""
        self.home.mkdir(exist_ok=True)
        return TopologyRun(self.plan(), self.ledger(), OPTIONS).run()

    def stops(self) -> str:
        """Run into the trouble; return what is said."""
        with pytest.raises(FatalError) as raised:
            self.run()
        return str(raised.value)

    def carry_out(self, words: list[str]) -> None:
        """Run a command of an error's text."""
        assert carry_out(self, self.home, words, {}) == 0

    def sums(self) -> dict[str, int]:
        """Return what the state has."""
        with closing(sqlite3.connect(self.home / "state.sqlite" if self.apart else self.file)) as connection:
            try:
                return dict(connection.execute("SELECT account, total FROM sums"))
            except sqlite3.OperationalError:  # nothing was ever applied
                return {}

    def refuse(self, account: str) -> None:
        """Let the table refuse the row of an account from now on."""
        when = f"new.account = '{account}'"
        self.asked(f"CREATE TRIGGER no BEFORE INSERT ON sums WHEN {when} BEGIN SELECT RAISE(ABORT, 'no'); END")

    def asked(self, statement: str) -> list[tuple[Any, ...]]:
        """Return what the ledger's database says."""
        with closing(sqlite3.connect(self.file)) as connection, connection:
            return connection.execute(statement).fetchall()
