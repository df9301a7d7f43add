"""What may go wrong, as data: a schedule that is drawn from the seed, printed, and shrunk one fault at a time."""

from __future__ import annotations

import random
from collections.abc import Iterator
from enum import StrEnum
from typing import NamedTuple


class FaultKind(StrEnum):
    """Every kind of fault; those of the first group hit a coordinator or the world, the others the next call."""

    CRASH = "a coordinator dies, its memory is gone"
    PAUSE = "a coordinator stands still and goes on later"
    LEASE_EXPIRY = "a coordinator's heartbeats do not arrive, its lease runs out while it works"
    ROLLING_STOP = "a coordinator is asked to stop gracefully"
    PARTITION_ADDED = "a partition is added to the topic"
    OFFSETS_LOST = "retention removes records that were not read"
    STATE_RESTORED = "a state alone is restored from an old backup"
    LEDGER_RESTORED = "the ledger alone is restored from an old backup"
    STATE_EMPTIED = "a state's database is another one, with nothing in it"
    RESET = "a person resets the topology"
    RESET_CUT_OFF = "a person's reset dies in the middle"
    UNDO = "a person undoes a decided txid"
    UNDO_CUT_OFF = "a person's undo dies in the middle"
    WITHDRAWN = "the engine loses what it staged for a batch that waits for its turn"

    STATE_ADDED = "a version with one more state is deployed to one coordinator"
    WRONG_VERSION = "a version that must be refused is deployed to one coordinator"
    ROLLED_BACK = "the version without the new state is deployed again"
    STORES_SWAPPED = "the databases of the states are mistaken for each other"
    OTHER_TOPOLOGY = "a state's address is that of another topology's state"
    EMPTIED_IN_USE = "a state's database is emptied while coordinators run"

    SINK_AWAY = "the cluster of a sink can't be reached for a while"
    SINK_HANGS = "a transaction of somebody else's hangs in the marker topic for a while"
    SINK_ID_EXPIRED = "a sink's transactional id expires, its epochs begin again"
    SINK_RESTORED = "the cluster of a sink alone is restored from an old backup"

    PARTITION_MISSING = "a metadata answer leaves a partition out"
    SOURCE_ERROR = "the source can't be reached"
    STORE_ERROR = "a store fails, nothing is written"
    ANSWER_LOST_DONE = "an answer is lost, the transaction has taken effect"
    ANSWER_LOST_UNDONE = "an answer is lost, the transaction was rolled back"
    AT_WORK_DONE = "an answer is lost, the backend is still at work and commits later"
    AT_WORK_UNDONE = "an answer is lost, the backend is still at work and rolls back later"
    REQUEST_STALLED = "a request is on its way for longer than a lease"
    ANSWER_DELAYED = "an answer is on its way for longer than a lease"
    PROCESSING_FAILED = "the engine fails"
    PROCESSING_SLOW = "a batch is not processed in time, its answer comes late"
    PROCESSING_UNHEARD = "the engine's answer is lost"
    SHORT_READ = "a task stops before the end of its range"
    REFUSED = "a state refuses a batch for good"
    REFUSED_WHILE_STAGING = "a state refuses the rows of a batch while they are staged"
    STAGING_LOST = "staged rows are lost before the pin"

    SINK_ANSWER_LOST = "the answer to a commit of a sink is lost"
    SINK_END_LOST = "a commit of a sink is lost on its way, its transaction hangs"
    SINK_END_LATE = "a commit of a sink is given up, and arrives late"
    SINK_END_TWICE = "a commit of a sink is sent twice, and arrives late once more"
    SINK_REFUSED = "a topic refuses a record for good"
    SINK_STALLED = "who calls the cluster of a sink stands still in the middle"
    SINK_DIED = "who calls the cluster of a sink dies in the middle"


IN_TURN = {
    FaultKind.PROCESSING_FAILED: "the work in a commit turn fails",
    FaultKind.PROCESSING_SLOW: "the work in a commit turn is not done in time, its answer comes late",
    FaultKind.PROCESSING_UNHEARD: "the answer of the work in a commit turn is lost",
}
"""What the faults of the engine are called when they hit the work in a commit turn."""

BATCH_TIMEOUT_MS = 100
LONGEST_MS = 600_000
"""No world lasts so long."""

HAPPENS_BY_ITSELF = ("a row is locked for too long",)
"""What no schedule names: it follows from others."""

EVOLUTION_KINDS = (
    FaultKind.STATE_ADDED,
    FaultKind.WRONG_VERSION,
    FaultKind.ROLLED_BACK,
    FaultKind.STORES_SWAPPED,
    FaultKind.OTHER_TOPOLOGY,
    FaultKind.EMPTIED_IN_USE,
)
"""What comes on top of the other faults, in some seeds, so that what these draw stays what it was."""
SINK_CALLS = (
    FaultKind.SINK_ANSWER_LOST,
    FaultKind.SINK_END_LOST,
    FaultKind.SINK_END_LATE,
    FaultKind.SINK_END_TWICE,
    FaultKind.SINK_REFUSED,
    FaultKind.SINK_STALLED,
    FaultKind.SINK_DIED,
)
"""What waits for a call to a sink's cluster."""
SINK_CLUSTER = (FaultKind.SINK_AWAY, FaultKind.SINK_HANGS, FaultKind.SINK_ID_EXPIRED)
SINK_KINDS = (*SINK_CALLS, *SINK_CLUSTER, FaultKind.SINK_RESTORED)
"""What comes on top of the other faults, where there is a sink."""
WORLD_KINDS = (
    *EVOLUTION_KINDS,
    *SINK_CLUSTER,
    FaultKind.SINK_RESTORED,
    FaultKind.CRASH,
    FaultKind.PAUSE,
    FaultKind.LEASE_EXPIRY,
    FaultKind.ROLLING_STOP,
    FaultKind.PARTITION_ADDED,
    FaultKind.OFFSETS_LOST,
    FaultKind.STATE_RESTORED,
    FaultKind.LEDGER_RESTORED,
    FaultKind.STATE_EMPTIED,
    FaultKind.RESET,
    FaultKind.RESET_CUT_OFF,
    FaultKind.UNDO,
    FaultKind.UNDO_CUT_OFF,
    FaultKind.WITHDRAWN,
)
_WEIGHTS = {
    FaultKind.CRASH: 6,
    FaultKind.PAUSE: 4,
    FaultKind.LEASE_EXPIRY: 3,
    FaultKind.ANSWER_LOST_DONE: 3,
    FaultKind.ANSWER_LOST_UNDONE: 2,
    FaultKind.AT_WORK_DONE: 3,
    FaultKind.AT_WORK_UNDONE: 2,
    FaultKind.REQUEST_STALLED: 3,
    FaultKind.STORE_ERROR: 3,
    FaultKind.RESET: 0.4,
    FaultKind.RESET_CUT_OFF: 0.4,
    FaultKind.UNDO: 0.6,
    FaultKind.UNDO_CUT_OFF: 0.6,
    FaultKind.STATE_RESTORED: 0.5,
    FaultKind.LEDGER_RESTORED: 0.5,
    FaultKind.STATE_EMPTIED: 0.5,
    FaultKind.OFFSETS_LOST: 0.8,
}


class Call(StrEnum):
    """Which calls a fault waits for."""

    ANY = "any"
    TAKE_OVER = "take-over"
    PLAN = "plan"
    PROCESS = "process"
    TURN = "turn"
    COMMIT = "commit"


class Fault(NamedTuple):
    """A fault that happens some time after so many commits."""

    after: int
    delay: int
    kind: FaultKind
    call: Call
    number: int
    """Which coordinator, partition or backup, and how much; what it means is the kind's affair."""


def draw_faults(rng: random.Random, commits: int) -> tuple[Fault, ...]:
    """Return the schedule of a seed: so many faults that the median seed has well over five."""
    kinds, weights = _KINDS
    calls = list(Call)
    faults = []
    for kind in rng.choices(kinds, weights, k=rng.randint(5, 9)):
        call = calls[int(rng.random() * len(calls))]
        after = int(rng.random() * (commits - 1))
        faults.append(Fault(after, int(rng.random() * 30), kind, call, int(rng.random() * 1000)))
    return tuple(sorted([*faults, *_draw_evolution(rng, commits)]))


def _draw_evolution(rng: random.Random, commits: int) -> Iterator[Fault]:
    """Yield deployments and mistaken databases; mostly a new state comes first."""
    if rng.random() > _EVOLVING:
        return
    after = int(rng.random() * (commits - 6))
    if rng.random() < 0.7:
        yield Fault(after, int(rng.random() * 30), FaultKind.STATE_ADDED, Call.ANY, int(rng.random() * 1000))
    for kind in rng.choices(EVOLUTION_KINDS, k=rng.randint(1, 2)):
        later = after + int(rng.random() * (commits - 1 - after))
        yield Fault(later, int(rng.random() * 30), kind, Call.ANY, int(rng.random() * 1000))


_EVOLVING = 0.4
_ORDINARY = [kind for kind in FaultKind if kind not in EVOLUTION_KINDS and kind not in SINK_KINDS]
_KINDS = (_ORDINARY, [_WEIGHTS.get(kind, 1.5) for kind in _ORDINARY])
