"""What a user's own store keeps as it is: bytes of every earlier version are read, and name classes that stay."""

from __future__ import annotations

import pickle
import shutil
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from examples.own_store import JournalMap
from tests.coordinators.fakes import Topic, make_job
from tests.coordinators.test_run import OPTIONS
from trident.base.errors import FatalError
from trident.coordinators.decisions.commands import reset_topology
from trident.coordinators.holding.run import TopologyRun
from trident.coordinators.ledger import SqliteLedger
from trident.state import BackingMapState
from trident.state.maps.maps import BackingKey, BackingPosition, BackingValue, TimedPosition, TimedValue
from trident.state.values import OpaqueValue, TransactionalValue

STORED = Path(__file__).parent / "stored"


def test_a_map_that_an_older_version_pickled_goes_on(tmp_path: Path) -> None:
    """Its entries name classes by the modules that they had then; twelve records were done."""
    shutil.copy(STORED / "map-before-versions.pickle", tmp_path / "journal")
    with sqlite3.connect(tmp_path / "ledger.sqlite") as connection:
        connection.executescript((STORED / "map-before-versions-ledger.sql").read_text())
    kept = JournalMap(tmp_path / "journal")
    topic = Topic([[(f"a{number % 3}", 1) for number in range(24)]])
    job = make_job(topic, BackingMapState("balances", kept))
    TopologyRun(job.plan(), SqliteLedger(tmp_path / "ledger.sqlite"), OPTIONS).run()
    found = {key[0]: value.current for key, value in kept.items() if isinstance(value, OpaqueValue)}
    assert found == topic.expected()
    kept.close()


class BytesMap:
    """Keeps pickled values and compares their bytes, as one would do on SQL, Redis or DynamoDB."""

    def __init__(self, kept: dict[BackingKey, bytes]) -> None:
        self.kept = kept

    def multi_get(self, keys: Sequence[BackingKey]) -> list[BackingValue | None]:
        return [pickle.loads(self.kept[key]) if key in self.kept else None for key in keys]

    def multi_put(self, items: Iterable[tuple[BackingKey, BackingValue]]) -> None:
        self.kept.update((key, pickle.dumps(value)) for key, value in items)

    def multi_put_if(self, changes: Sequence[tuple[BackingKey, BackingValue | None, BackingValue]]) -> list[bool]:
        answers = []
        for key, expected, new in changes:
            answers.append(self.kept.get(key) == (None if expected is None else pickle.dumps(expected)))
            if answers[-1]:
                self.kept[key] = pickle.dumps(new)
        return answers


BytesMap.__qualname__ = JournalMap.__qualname__  # the kind of map is part of what the ledger holds


def old_bytes(folder: Path) -> BytesMap:
    """Return what the first version left, as it pickled it, in a map that compares bytes."""
    shutil.copy(STORED / "map-before-versions.pickle", folder / "journal")
    with sqlite3.connect(folder / "ledger.sqlite") as connection:
        connection.executescript((STORED / "map-before-versions-ledger.sql").read_text())
    kept = JournalMap(folder / "journal")
    name = b"trident.state.backing.maps"
    assert name in (folder / "journal").read_bytes()
    found = BytesMap({key: pickle.dumps(value) for key, value in kept.items()})
    assert any(name in value for value in found.kept.values())
    kept.close()
    return found


def test_a_map_that_compares_bytes_goes_on_with_those_of_an_older_version(tmp_path: Path) -> None:
    kept = old_bytes(tmp_path)
    topic = Topic([[(f"a{number % 3}", 1) for number in range(24)]])
    job = make_job(topic, BackingMapState("balances", kept))
    TopologyRun(job.plan(), SqliteLedger(tmp_path / "ledger.sqlite"), OPTIONS).run()
    values = {key[0]: pickle.loads(value) for key, value in kept.kept.items()}
    assert {key: value.current for key, value in values.items() if isinstance(value, OpaqueValue)} == topic.expected()


class NeverEqual(BytesMap):
    """A map whose conditional put of the position is never done: it finds nothing equal to what it holds."""

    def multi_put_if(self, changes: Sequence[tuple[BackingKey, BackingValue | None, BackingValue]]) -> list[bool]:
        return [
            bool(expected is None and super(NeverEqual, self).multi_put_if([(key, None, new)])[0])
            for key, expected, new in changes
        ]


def test_a_map_that_takes_no_position_is_told_as_that_and_not_as_a_lost_ledger(tmp_path: Path) -> None:
    """A reset, the way out of a ledger that was lost, would take one lease after the other for ever."""
    kept = NeverEqual(old_bytes(tmp_path).kept)
    NeverEqual.__qualname__ = JournalMap.__qualname__
    job = make_job(Topic([[]]), BackingMapState("balances", kept))
    ledger = SqliteLedger(tmp_path / "ledger.sqlite")
    impatient = replace(OPTIONS, give_up_after=timedelta(milliseconds=200))
    with pytest.raises(FatalError, match="compares something else than the values"):
        TopologyRun(job.plan(), ledger, impatient).run()
    plan = job.plan()
    with pytest.raises(FatalError, match="nothing was changed"):
        reset_topology(plan.spec, plan.targets, ledger, keep_rows=True, start=None, options=impatient)


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (OpaqueValue, b"trident.state.values"),
        (TransactionalValue, b"trident.state.values"),
        (BackingPosition, b"trident.state.backing.maps"),
        (TimedPosition, b"trident.state.maps.maps"),
        (TimedValue, b"trident.state.maps.maps"),
    ],
)
def test_what_stores_pickle_is_found_by_the_same_name_for_ever(kind: type, name: bytes) -> None:
    """A class that moves leaves its old module behind, with a dump of its own here."""
    assert name in pickle.dumps(kind)
    assert kind.__module__.encode() == name
