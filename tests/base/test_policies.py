"""A policy is a member, or its own name as text; anything else is refused where it is given."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from trident import MemoryLedger, Topology, reset
from trident.base.errors import ConfigurationError
from trident.coordinators.options import LONGEST_WAIT, Audit, OnRunning, RunOptions
from trident.spouts import BadRecord, FixedBatchSpout, LostOffsets, OpaqueKafkaSpout, SpoutKind, StartAt
from trident.state import MemoryState, PostgresState, SqliteState, StateKind


def spout(**policies: object) -> OpaqueKafkaSpout:
    return OpaqueKafkaSpout("clicks", bootstrap_servers="127.0.0.1:9", **policies)  # type: ignore[arg-type]


def test_a_policy_is_taken_by_its_name() -> None:
    named = spout(start="earliest", on_bad_record="dead_letter", on_lost_offsets="resume_at_earliest")
    assert named.start is StartAt.EARLIEST
    assert named.on_bad_record is BadRecord.DEAD_LETTER
    assert named.on_lost_offsets is LostOffsets.RESUME_AT_EARLIEST
    assert RunOptions(on_running="refuse").on_running is OnRunning.REFUSE  # type: ignore[arg-type]
    assert RunOptions(audit="on").audit is Audit.ON  # type: ignore[arg-type]
    assert FixedBatchSpout("n int", [], kind="opaque").kind is SpoutKind.OPAQUE
    for state in (MemoryState, PostgresState, SqliteState):
        assert state("totals", kind="transactional").kind is StateKind.TRANSACTIONAL  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: spout(start="erliest"), "start must be one of 'earliest', 'latest'"),
        (lambda: spout(on_bad_record="deadletter"), "on_bad_record must be one of 'fail', 'dead_letter'"),
        (lambda: spout(on_lost_offsets=None), "on_lost_offsets must be one of"),
        (lambda: RunOptions(on_running="refsue"), "on_running must be one of 'wait', 'refuse'"),  # type: ignore[arg-type]
        (lambda: MemoryState("totals", kind="opaqe"), "a state's kind must be one of"),  # type: ignore[arg-type]
        (lambda: FixedBatchSpout("n int", [], kind="opaqe"), "kind must be one of 'transactional', 'opaque'"),
        (
            lambda: reset(Topology("t"), MemoryLedger(), states="clear", start="soon"),
            "a datetime with a time zone or a mapping",
        ),
        (lambda: RunOptions(lease=30), "lease must be a duration such as timedelta"),  # type: ignore[arg-type]
        (lambda: RunOptions(lease=LONGEST_WAIT + timedelta(seconds=1)), "lease must be at most"),
        (lambda: RunOptions(max_wait=3), "max_wait must be a duration such as timedelta"),  # type: ignore[arg-type]
        (lambda: RunOptions(max_wait=-timedelta(seconds=1)), "max_wait must be"),
        (lambda: RunOptions(keep=None), "keep must be a Keep"),  # type: ignore[arg-type]
        (lambda: RunOptions(max_pending=True), "max_pending must be a whole number"),
        (lambda: RunOptions(max_tries=2.5), "max_tries must be a whole number"),  # type: ignore[arg-type]
    ],
)
def test_anything_else_is_refused_by_name(make: Callable[[], object], said: str) -> None:
    with pytest.raises(ConfigurationError, match=said.replace("(", r"\(")):
        make()


def test_no_example_names_what_is_gone() -> None:
    texts = [path.read_text() for path in (Path(__file__).parents[2] / "examples").glob("*.py")]
    assert not [text for text in texts if "trident.services" in text or "trident.state.backing" in text]
