"""A process of a queue's spout that a run goes on with was told how far its stream is, whatever was open before."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.coordinators.receiving import receiving_job
from tests.coordinators.test_decisions import dying_at
from tests.coordinators.test_messages_that_fail import Broker, BrokersInstance, BrokersSpout
from tests.coordinators.test_run import OPTIONS, Place, memory_place, sqlite_place
from trident.base.crash_points import CrashPoint
from trident.base.errors import FatalError
from trident.coordinators.decided import ResetStart
from trident.coordinators.decisions.commands import reset_topology
from trident.coordinators.holding.run import TopologyRun
from trident.spouts.queue.acking import SpoutContext, StreamProgress
from trident.spouts.queue.source import AckingSource
from trident.state import StateKind


class Stream(BrokersSpout):
    """Knows what its processes were told; a source that compares it finds it wrong if so."""

    def __init__(self, broker: Broker) -> None:
        super().__init__(broker)
        self.told: list[StreamProgress | None] = []
        self.is_wrong = False

    def open(self, name: str) -> AckingSource:
        def begin(context: SpoutContext) -> BrokersInstance:
            self.told.append(context.progress)
            instance = BrokersInstance(self.broker, context)
            if self.is_wrong and context.progress is not None:
                instance.check = self._refuse
            return instance

        return AckingSource(name, self._spout, begin)

    def _refuse(self) -> None:
        raise FatalError("the ledger was put back")


@pytest.fixture(params=["memory", "sqlite", "sqlite apart"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    return memory_place() if request.param == "memory" else sqlite_place(tmp_path, apart=request.param.endswith("t"))


def run(place: Place, stream: Stream) -> list[StreamProgress | None]:
    """Return what the processes of this run were told when they were started."""
    stream.told = []
    job = receiving_job(stream, place.state("counts", kind=StateKind.OPAQUE))
    TopologyRun(job, place.ledger(), OPTIONS).run()
    return stream.told


def reset(place: Place, stream: Stream, *, keep_rows: bool = False) -> None:
    job = receiving_job(stream, place.state("counts", kind=StateKind.OPAQUE))
    start = ResetStart.RESUME if keep_rows else None
    reset_topology(job.spec, job.targets, place.ledger(), keep_rows=keep_rows, start=start, options=OPTIONS)


@pytest.mark.parametrize("point", [CrashPoint.AFTER_DECIDING_RESET, CrashPoint.AFTER_RESETTING_STATE])
@pytest.mark.parametrize("keep_rows", [False, True])
@pytest.mark.parametrize("before", [0, 1, 2])
def test_a_start_that_finishes_a_reset_has_one_process_which_knows_that_reset(
    place: Place, before: int, keep_rows: bool, point: CrashPoint
) -> None:
    """After another reset nothing is stored of where the streams begin, so they are asked."""
    stream = Stream(Broker([f"m{n}" for n in range(7)]))
    (first,) = run(place, stream)
    assert first is not None
    assert (first.birth, first.done) == (0, 0)
    for _ in range(before):
        reset(place, stream)
    with dying_at(point):
        reset(place, stream, keep_rows=keep_rows)
    stream.broker.waiting.append("new")
    (told,) = run(place, stream)
    birth = place.ledger().view().status("queued").birth_txid
    assert birth > 0
    assert told == StreamProgress(first.life, birth, 7 if keep_rows else 0)


@pytest.mark.parametrize("before", [0, 1])
def test_what_a_source_finds_wrong_behind_a_reset_ends_each_start_before_anything_is_taken(
    place: Place, before: int
) -> None:
    stream = Stream(Broker(["a", "b"]))
    run(place, stream)
    for _ in range(before):
        reset(place, stream)
    with dying_at(CrashPoint.AFTER_DECIDING_RESET):
        reset(place, stream)
    stream.broker.waiting.append("c")
    stream.is_wrong = True
    for _ in range(2):
        with pytest.raises(FatalError, match="put back"):
            run(place, stream)
    assert stream.broker.given == {"a": 1, "b": 1}
    stream.is_wrong = False
    run(place, stream)
    assert stream.broker.acked == ["a", "b", "c"]
