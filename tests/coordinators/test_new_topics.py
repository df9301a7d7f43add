"""A topic that a version of a topology adds to one of its streams, or lets go of again."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from tests.coordinators.fakes import ListJob, ListProcessor, ListSource, ListSpout, Record, Topic
from tests.coordinators.test_run import OPTIONS, Place, memory_place, sqlite_place
from trident.base.crash_points import CrashPoint, armed
from trident.base.errors import MismatchError
from trident.base.levels import Level
from trident.base.ranges import PartitionBounds, PartitionId
from trident.coordinators.decisions.commands import reset_topology
from trident.coordinators.holding.run import TopologyRun
from trident.spouts.base import SpoutKind

TOPICS = ("a", "b")
"""The topics of a log's partitions."""


class Died(BaseException):
    """The process is gone."""


@dataclass(frozen=True)
class NamedSource(ListSource):
    topics: tuple[str, ...] = ()

    def bounds(self) -> tuple[PartitionBounds, ...]:
        all_ = (replace(each, id=_place(each.id.partition)) for each in super().bounds())
        return tuple(each for each in all_ if each.id.topic in self.topics)


@dataclass(frozen=True)
class NamedSpout(ListSpout):
    topics: tuple[str, ...] = field(default=())

    def description(self) -> dict[str, str]:
        return {"spout": "kafka", "kind": self.kind.value, "topics": ",".join(self.topics)}

    def open(self, name: str) -> NamedSource:
        return NamedSource(self.topic, name, self.topics)


def _place(partition: int) -> PartitionId:
    return PartitionId(TOPICS[partition], partition)


@pytest.fixture(params=["memory", "sqlite", "sqlite apart"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    return memory_place() if request.param == "memory" else sqlite_place(tmp_path, apart=request.param != "sqlite")


@pytest.fixture(params=[SpoutKind.OPAQUE, SpoutKind.TRANSACTIONAL])
def kind(request: pytest.FixtureRequest) -> SpoutKind:
    return request.param  # type: ignore[no-any-return]


def records(count: int, name: str = "k") -> list[Record]:
    return [(f"{name}{n % 5}", n + 1) for n in range(count)]


def job_of(place: Place, log: Topic, *topics: str, kind: SpoutKind = SpoutKind.OPAQUE, **options: Any) -> ListJob:
    spout = NamedSpout(log, topics=topics, kind=kind, **options)
    state = place.state("balances")
    return ListJob(log, spout, [state], ListProcessor(log, ["balances"], lambda _, result: result), Level.EXACTLY_ONCE)


def run(job: ListJob, place: Place) -> None:
    TopologyRun(job.plan(), place.ledger(), OPTIONS).run()


def sums(*logs: list[Record]) -> dict[str, tuple[int, int]]:
    return Topic(list(logs)).expected()


def test_a_topic_that_comes_is_read_from_where_the_spout_begins(place: Place, kind: SpoutKind) -> None:
    log = Topic([records(25), records(18, "b")], earliest={1: 7})
    run(job_of(place, log, "a", kind=kind), place)
    assert place.rows("balances") == sums(log.partitions[0])
    for topics in (("a", "b"), ("b", "a")):  # their order says nothing
        log.partitions[0] += records(4, "late")
        run(job_of(place, log, *topics, kind=kind), place)
        assert place.rows("balances") == sums(log.partitions[0], log.partitions[1][7:])


def test_a_topic_that_comes_may_begin_at_its_end(place: Place, kind: SpoutKind) -> None:
    log = Topic([records(25), records(18, "b")], begins="latest")
    run(job_of(place, log, "a", kind=kind), place)
    log.partitions[0] += records(7)
    run(job_of(place, log, "a", "b", kind=kind), place)
    log.partitions[1] += records(9, "late")
    run(job_of(place, log, "a", "b", kind=kind), place)
    assert place.rows("balances") == sums(log.partitions[0][25:], log.partitions[1][18:])


@pytest.mark.parametrize("point", [CrashPoint.AFTER_PLAN, CrashPoint.BEFORE_PIN, CrashPoint.AFTER_PIN])
def test_a_txid_of_the_version_before_is_finished_as_it_was(tmp_path: Path, kind: SpoutKind, point: CrashPoint) -> None:
    place, log = sqlite_place(tmp_path, apart=True), Topic([records(25), records(18, "b")])

    def die(reached: CrashPoint, txid: int) -> None:
        if reached is point and txid == 2:
            raise Died

    with armed(die), pytest.raises(Died):
        run(job_of(place, log, "a", kind=kind), place)
    run(job_of(place, log, "a", "b", kind=kind), place)
    assert place.rows("balances") == sums(*log.partitions)


@pytest.mark.parametrize("point", [CrashPoint.AFTER_LOOKING, CrashPoint.AFTER_REGISTRATION, CrashPoint.AFTER_STARTS])
def test_a_start_that_dies_is_made_again(place: Place, point: CrashPoint) -> None:
    log = Topic([records(25), records(18, "b")], earliest={1: 7})
    run(job_of(place, log, "a"), place)

    def die(reached: CrashPoint, txid: int) -> None:
        if reached is point:
            raise Died

    with armed(die), pytest.raises(Died):
        run(job_of(place, log, "a", "b"), place)
    run(job_of(place, log, "a", "b"), place)
    assert place.rows("balances") == sums(log.partitions[0], log.partitions[1][7:])


def test_the_version_before_may_come_back_until_a_txid_is_pinned(place: Place, kind: SpoutKind) -> None:
    log = Topic([records(25), []], begins="latest")
    run(job_of(place, log, "a", kind=kind), place)
    log.partitions[1] += records(5, "b")
    run(job_of(place, log, "a", "b", kind=kind), place)  # it begins behind these, so there is nothing to read
    log.partitions[1] += records(6, "c")
    log.partitions[0] += records(3)
    run(job_of(place, log, "a", kind=kind), place)
    run(job_of(place, log, "a", "b", kind=kind), place)  # and begins anew, behind what came meanwhile
    log.partitions[1] += records(7, "d")
    run(job_of(place, log, "a", "b", kind=kind), place)
    assert place.rows("balances") == sums(log.partitions[0][25:], log.partitions[1][11:])


def test_the_version_before_is_refused_once_a_txid_knows_the_topic(place: Place, kind: SpoutKind) -> None:
    log = Topic([records(25), records(18, "b")])
    run(job_of(place, log, "a", kind=kind), place)
    run(job_of(place, log, "a", "b", kind=kind), place)
    log.partitions[0] += records(3)
    for _ in range(2):
        with pytest.raises(MismatchError, match=r"topic 'b' no more .* up to txid \d+ knows it: .*Put the topic back"):
            run(job_of(place, log, "a", kind=kind), place)
    run(job_of(place, log, "a", "b", kind=kind), place)
    assert place.rows("balances") == sums(*log.partitions)


def test_a_txid_that_is_only_planned_keeps_no_version_back(place: Place) -> None:
    log = Topic([records(25), []])
    run(job_of(place, log, "a"), place)
    log.partitions[1] += records(5, "b")

    def die(reached: CrashPoint, txid: int) -> None:
        if reached is CrashPoint.AFTER_PLAN:
            raise Died

    with armed(die), pytest.raises(Died):
        run(job_of(place, log, "a", "b"), place)
    log.partitions[0] += records(3)
    run(job_of(place, log, "a"), place)
    assert place.rows("balances") == sums(log.partitions[0])
    run(job_of(place, log, "a", "b"), place)
    assert place.rows("balances") == sums(*log.partitions)


def test_rows_that_a_reset_kept_know_the_topic(place: Place, kind: SpoutKind) -> None:
    log = Topic([records(25), records(5, "b")])
    job = job_of(place, log, "a", "b", kind=kind)
    run(job, place)
    reset_topology(job.plan().spec, job.plan().targets, place.ledger(), keep_rows=True, start=None, options=OPTIONS)
    with pytest.raises(MismatchError, match="topic 'b' no more"):
        run(job_of(place, log, "a", kind=kind), place)
    log.partitions[1] += records(4, "late")
    run(job, place)
    assert place.rows("balances") == sums(*log.partitions)


def reset(job: ListJob, place: Place, start: str) -> None:
    """Keep the rows, and begin at the start that is named, as the command does."""
    plan = job.plan()
    reset_topology(plan.spec, plan.targets, place.ledger(), keep_rows=True, start=start, options=OPTIONS)


def test_rows_that_a_reset_kept_know_the_topic_before_a_start_that_was_named_is_asked(place: Place) -> None:
    log = Topic([records(25), records(5, "b")])
    job = job_of(place, log, "a", "b")
    run(job, place)
    reset(job, place, "latest")
    for _ in range(2):
        with pytest.raises(MismatchError, match="topic 'b' no more"):
            run(job_of(place, log, "a"), place)
    run(job, place)
    log.partitions[1] += records(4, "late")
    run(job, place)
    assert place.rows("balances") == sums(*log.partitions)


def test_a_reset_says_nothing_of_a_topic_that_comes_after_it(place: Place) -> None:
    log = Topic([records(25), records(18, "b")])
    run(job_of(place, log, "a"), place)
    reset(job_of(place, log, "a"), place, "latest")
    run(job_of(place, log, "a", "b"), place)
    assert place.rows("balances") == sums(*log.partitions)


def test_a_reset_by_the_version_that_has_the_topic_says_where_it_begins(place: Place) -> None:
    log = Topic([records(25), records(18, "b")])
    run(job_of(place, log, "a"), place)
    reset(job_of(place, log, "a", "b"), place, "latest")
    run(job_of(place, log, "a", "b"), place)
    assert place.rows("balances") == sums(log.partitions[0])
    log.partitions[0] += records(3)
    run(job_of(place, log, "a"), place)  # no row is of the other one, so that it may go
    assert place.rows("balances") == sums(log.partitions[0])


def test_what_must_be_read_again_keeps_its_topic(place: Place) -> None:
    """A transactional txid that was planned is never replaced by another one."""
    log = Topic([records(25), []])
    run(job_of(place, log, "a", kind=SpoutKind.TRANSACTIONAL), place)
    log.partitions[1] += records(5, "b")

    def die(reached: CrashPoint, txid: int) -> None:
        if reached is CrashPoint.AFTER_PLAN:
            raise Died

    with armed(die), pytest.raises(Died):
        run(job_of(place, log, "a", "b", kind=SpoutKind.TRANSACTIONAL), place)
    with pytest.raises(MismatchError, match="reads topic 'b' no more"):
        run(job_of(place, log, "a", kind=SpoutKind.TRANSACTIONAL), place)
    run(job_of(place, log, "a", "b", kind=SpoutKind.TRANSACTIONAL), place)
    assert place.rows("balances") == sums(*log.partitions)


@pytest.mark.parametrize("reads", ["other topics and kind", "a pattern"])
def test_nothing_else_of_a_stream_may_change_with_its_topics(place: Place, reads: str) -> None:
    log = Topic([records(25), records(18, "b")])
    run(job_of(place, log, "a"), place)
    newer = job_of(place, log, "a", "b", kind=SpoutKind.TRANSACTIONAL)
    if reads == "a pattern":
        newer = replace(newer, spout=_Pattern(log, topics=("a", "b")))
    with pytest.raises(MismatchError, match="stream 's' is stored as"):
        run(newer, place)
    run(job_of(place, log, "a", "b"), place)
    assert place.rows("balances") == sums(*log.partitions)


class _Pattern(NamedSpout):
    def description(self) -> dict[str, str]:
        return {"spout": "kafka", "kind": self.kind.value, "pattern": "[ab]"}
