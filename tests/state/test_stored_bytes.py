"""What a user's own store keeps as it is: bytes of every earlier version are read, and name classes that stay."""

from __future__ import annotations

import pickle
import shutil
import sqlite3
from pathlib import Path

import pytest

from examples.own_store import JournalMap
from tests.coordinators.fakes import Topic, make_job
from tests.coordinators.test_run import OPTIONS
from trident.coordinators.holding.run import TopologyRun
from trident.coordinators.ledger import SqliteLedger
from trident.state import BackingMapState
from trident.state.maps.maps import BackingPosition
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


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (OpaqueValue, b"trident.state.values"),
        (TransactionalValue, b"trident.state.values"),
        (BackingPosition, b"trident.state.maps.maps"),
    ],
)
def test_what_stores_pickle_is_found_by_the_same_name_for_ever(kind: type, name: bytes) -> None:
    """A class that moves leaves its old module behind, with a dump of its own here."""
    assert name in pickle.dumps(kind)
    assert kind.__module__.encode() == name
