"""A process over a queue whose messages have ids and want an ack each: a life of the crash matrix, and what must hold.

The spout runs in a process of its own, which ends with its coordinator: killed along with it, or by itself when it has
noticed. What it had and nobody acked is given again by the queue.
"""

from __future__ import annotations

import os
import pickle
import signal
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from integration_tests.crash_matrix.forking import Forker
from integration_tests.crash_matrix.outside import OutsideLife
from integration_tests.crash_matrix.received import reading, target_of_next
from tests.coordinators.receiving import CountingProcessor
from tests.spouts.queue.file_queue import FileQueue, FileQueueSpout
from trident.base.crash_points import CrashPoint, armed
from trident.base.timeouts import DEFAULT_TIMEOUTS
from trident.coordinators.holding.run import RunnableTopology, TopologyRun
from trident.coordinators.registered import TopologySpec
from trident.spouts.base import Source
from trident.spouts.queue.spout import QueueSpout

MESSAGES = tuple(f"m{number}" for number in range(14))
_EACH = 4
_ENDS_WITHIN = 20.0


@dataclass(frozen=True, slots=True)
class MessagesLife(OutsideLife):
    """See `OutsideLife`; its queue gives messages with ids."""

    takes_spout_along: bool = False
    """Whether the process of its spout is killed with it, else that one ends when it has noticed."""
    loses_acks: bool = False

    @property
    def queue(self) -> FileQueue:
        return FileQueue(Path(self.addresses.folder) / f"messages-{self.key}.sqlite")

    def live(self) -> None:
        """Run; a death is a SIGKILL of this very process."""
        with armed(self._reach):
            TopologyRun(self._job(), self.place.ledger(), self.options).run()

    def _job(self) -> RunnableTopology:
        ends, spout = self.ends, self._spout()
        described = {"s": {**spout.description(), "kind": spout.kind.value}}
        spec = TopologySpec(self.place.topology, described, {end.name: end.description() for end in ends})

        def make(sources: Mapping[str, Source], _: object) -> CountingProcessor:
            return CountingProcessor(sources, [end.name for end in ends], reading)

        return RunnableTopology(spec, {"s": spout}, {end.name: end.open for end in ends}, make)

    def _spout(self) -> QueueSpout:
        """Return one whose class the spout's process can import without all that is imported here."""
        taking = FileQueueSpout(self.queue.path, loses_acks=self.loses_acks)
        taking.max_batch_size = _EACH
        return QueueSpout(taking, pickle.dumps(taking))

    def _reach(self, point: CrashPoint, txid: int) -> None:
        if point is not self.dies_at or txid not in (0, self.target):
            return
        for pid in self.queue.pids() if self.takes_spout_along else []:
            if _parent_of(pid) == os.getpid():  # who dies while it takes over has started none yet
                os.kill(pid, signal.SIGKILL)
        os.kill(os.getpid(), signal.SIGKILL)
        threading.Event().wait()  # the signal is on its way


def play(life: MessagesLife, forker: Forker, second: CrashPoint | None) -> Iterator[str]:
    """Yield what is wrong once one has died, perhaps its successor too, and another has taken what was left."""
    life.queue.put(MESSAGES)
    next_one = replace(life, dies_at=second, target=target_of_next(life.dies_at), loses_acks=False)
    for dies in [life, *([] if second is None else [next_one])]:
        end = forker.end_of(dies)
        if end != -signal.SIGKILL:
            yield f"it ended with {end} instead of dying at {dies.dies_at}: {forker.said()}"
        _wait_for_spouts(life.queue)
        yield from _acked_early(life)
    for _ in range(2):  # a further start finds nothing to do
        end = forker.end_of(replace(life, dies_at=None, loses_acks=False))
        if end:
            yield f"the last one ended with {end}: {forker.said()}"
        yield from _once(life)


def _wait_for_spouts(queue: FileQueue) -> None:
    """Wait until no process of a spout is there any more, as a queue's server notices it."""
    latest = time.monotonic() + _ENDS_WITHIN
    while any(_parent_of(pid) is not None for pid in queue.pids()):
        assert time.monotonic() < latest, "the process of a spout has outlived its coordinator"
        time.sleep(0.01)


def _parent_of(pid: int) -> int | None:
    """Return whose child a process is; None of one that has ended, be it that its parent has yet to hear of it."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    state, parent = stat.rpartition(")")[2].split()[:2]
    return int(parent) if state != "Z" else None


def _acked_early(life: MessagesLife) -> Iterator[str]:
    """Yield unless all that the queue has heard of is in every state."""
    acked = {*life.queue.said("ack"), *life.queue.said("lost ack")}
    for end in life.ends if acked else ():
        early = acked - end.seen().rows.keys()
        if early:
            yield f"{early} were acked, and are not in {end.name!r}"


def _once(life: MessagesLife) -> Iterator[str]:
    """Yield unless each message counts once, the queue knows it, and no position is recorded as lost."""
    for end in life.ends:
        counts = {account: int(str(values[0])) for account, values in end.seen().rows.items()}
        if counts != dict.fromkeys(MESSAGES, 1):
            yield f"{end.name!r} has {counts}"
    if life.queue.left():
        yield f"{life.queue.left()} are still in the queue"
    ledger = life.place.ledger()
    ledger.open(DEFAULT_TIMEOUTS)
    with closing(ledger):
        losses = ledger.view().losses(life.place.topology)
    if losses:
        yield f"{losses} are recorded, and no message was lost"
