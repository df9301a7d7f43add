"""That others have a part of a group's topics is said once, when it lasts."""

from __future__ import annotations

import pytest

from trident.spouts.queue.kafka.errors import GroupPlace
from trident.spouts.queue.kafka.offsets import TopicPartition
from trident.spouts.queue.kafka.others import OtherMembers

ZERO, ONE = TopicPartition("t", 0), TopicPartition("t", 1)


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    at = [1_000.0]
    monkeypatch.setattr("time.monotonic", lambda: at[0])
    return at


def test_what_lasts_is_said_once(now: list[float], caplog: pytest.LogCaptureFixture) -> None:
    others = OtherMembers(GroupPlace("b", ("t",), "g"), [ZERO, ONE])
    for _ in range(4):
        others.look({ZERO})
        now[0] += 60
    assert "group 'g' at Kafka b: other members of the group have 1 of 2 partitions" in caplog.text
    assert len(caplog.records) == 1


def test_what_passes_is_not(now: list[float], caplog: pytest.LogCaptureFixture) -> None:
    others = OtherMembers(GroupPlace("b", ("t",), "g"), [ZERO, ONE])
    for ours in ({ZERO}, {ZERO, ONE}, {ONE}, {ZERO, ONE}):
        others.look(ours)
        now[0] += 100
    assert not caplog.records
