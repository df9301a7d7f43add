"""What is kept of a topology, and what a new holder reads of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

from trident.base.checks import check_count, check_duration
from trident.base.identity import Epoch, Owner
from trident.base.levels import Level
from trident.coordinators.decided import Decision, Refusal, ResetDecision
from trident.coordinators.lifecycle import Activity
from trident.coordinators.pinned import Pin
from trident.coordinators.planned import Plan, StartPosition
from trident.state.evolving import HeldColumns

SINK: Final = "sink"
"""The kind of what is no state."""
LEVEL: Final = "topology level"
"""What the description of a state or sink says beside the rest where its topology has a weaker level than the first."""
RECEIVED: Final = "non-transactional"
"""The kind of a stream that can't be read again."""
_LONGEST_PAUSE_S: Final = 0.5
_LONGEST_AGE = timedelta(days=36_500)
"""A moment that lies further back can't be computed in every database."""


@dataclass(frozen=True, slots=True)
class ColumnBirth:
    """The recorded fact that a state has one value more: it holds what came after this txid, and nothing before."""

    column: str
    txid: int


@dataclass(frozen=True, slots=True)
class Birth:
    """The recorded fact that a state belongs to an incarnation: it holds every txid after this one."""

    state: str
    txid: int | None
    """None in a ledger of a version that did not record births, until the state has been found."""
    with_rows: bool = False
    """Born by a reset that kept its rows: it has never been empty, whatever was done since."""
    columns: tuple[ColumnBirth, ...] = ()
    """Values that came later than the state."""
    withdrawn: tuple[str, ...] = ()
    """Values that a version had added which was taken back before anything was pinned: columns may be left of them."""


@dataclass(frozen=True, slots=True)
class Dropped:
    """A state or sink that was taken out: its name is used up, unless it comes back as it was before anything else."""

    state: str
    description: dict[str, str]
    birth: Birth
    incarnation: str
    txid: int
    """It has all up to this one, and nothing that came after it."""


@dataclass(frozen=True, slots=True)
class Renamed:
    """The recorded fact that a state has another name: what still lies under the former one is its own."""

    former: str
    state: str
    """What it is called now."""
    txid: int
    """It had the former name up to this one."""


@dataclass(frozen=True, slots=True)
class TopologySpec:
    """What must stay the same over restarts, by name: spouts and states with their descriptions."""

    name: str
    spouts: dict[str, dict[str, str]]
    states: dict[str, dict[str, str]]
    dropped: tuple[Dropped, ...] = ()
    """What was taken out, of a stored description only."""
    renamed: tuple[Renamed, ...] = ()
    """The former names of states, each with the present one; of a stored description only."""

    @property
    def sinks(self) -> tuple[str, ...]:
        """The names of those from which records leave, and stay where they went."""
        return tuple(sorted(name for name, what in self.states.items() if what.get("kind") == SINK))

    @property
    def level(self) -> Level:
        """What it promises of each record: one level for all of its states and sinks."""
        return next((Level(what[LEVEL]) for what in self.states.values() if LEVEL in what), Level.EXACTLY_ONCE)

    @property
    def received(self) -> tuple[str, ...]:
        """The names of the streams whose rows end with the process that has received them."""
        return tuple(sorted(name for name, what in self.spouts.items() if what.get("kind") == RECEIVED))


@dataclass(frozen=True, slots=True)
class Added:
    """What of a description the ledger had not known before."""

    topology: bool = False
    """The topology itself: it has never been in this ledger, or was forgotten."""
    streams: tuple[str, ...] = ()
    states: tuple[str, ...] = ()
    back: tuple[str, ...] = ()
    """Those of these states that were taken out before, and come back as they were."""
    topics: tuple[tuple[str, str], ...] = ()
    """Streams that the ledger knows, each with a topic that is new to it."""
    columns: tuple[tuple[str, HeldColumns], ...] = ()
    """What states hold that have other columns, or another order of them, than they were given with."""
    forgotten_in: int = 0
    """The number of the epoch in which one of its name was forgotten, 0 where none was."""

    @property
    def is_something(self) -> bool:
        """Whether a name is stored that was not, so that what it stands for can't be corrected any more."""
        has_new = bool(self.streams or self.states or self.topics)
        return self.topology or has_new or any(held.coming for _, held in self.columns)

    @property
    def asked(self) -> tuple[str, ...]:
        """The streams of which it is not stored where they begin, or one of their topics."""
        return (*self.streams, *sorted({stream for stream, _ in self.topics}))


@dataclass(frozen=True, slots=True)
class Lease:
    """Who holds a topology and for how long after its last heartbeat (the database's clock decides)."""

    holder: str
    duration: timedelta


def pause_between_beats(lease: timedelta) -> float:
    """Return how many seconds pass between two heartbeats of a holder.

    Three times per lease would keep it. More often, for a successor waits for two of them before it takes a holder for
    dead whose session with the server is gone.
    """
    return min(lease.total_seconds() / 3, _LONGEST_PAUSE_S)


@dataclass(frozen=True, slots=True)
class Acquired:
    """The word that a lease was taken: the epoch, and who held the topology before."""

    epoch: Epoch
    previous_holder: str | None = None


@dataclass(frozen=True, slots=True)
class Keep:
    """How much history of finished txids stays: at least `count` of them and all younger than `age`."""

    count: int = 10_000
    age: timedelta = timedelta(days=7)

    def __post_init__(self) -> None:
        check_count("Keep's count", self.count, least=0)
        check_duration("Keep's age", self.age, may_be_zero=True, longest=_LONGEST_AGE)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What a new holder reads after it has raised every fence: all that is durable and not yet done.

    `done_plan` is the plan of txid `done` (None at birth); `pin` is that of `done + 1` if there is
    one. `last_txid` is the highest txid ever planned, `last_attempt` the topology's attempt counter.
    """

    owner: Owner
    birth_txid: int
    done: int
    done_attempt: int
    done_plan: Plan | None
    pin: Pin | None
    live: tuple[Plan, ...]
    starts: tuple[StartPosition, ...] | None
    last_txid: int
    last_attempt: int
    incarnations: frozenset[str] = frozenset()
    """Every incarnation that the ledger has known of the topology, and those that resets were to open."""
    births: tuple[Birth, ...] = ()
    """The states that the incarnation is known to have, each since its birth."""
    open_reset: ResetDecision | None = None
    reset: ResetDecision | None = None
    """The reset that opened this incarnation, None of the first one."""
    refusal: Refusal | None = None
    """Why the last coordinator stopped at a txid that is not done, unless a person has decided since."""
    told: frozenset[int] = frozenset()
    """Attempts at the next txid of which the ledger says why they stopped, whether it has been decided since or not."""
    decisions: tuple[Decision, ...] = ()
    """What a person decided about txids that are not done, and is not finished; oldest first."""
    forgetting: Decision | None = None
    """The decision to let go of the topology, which was begun and is not finished: nothing else may begin."""
    activity: Activity = Activity.ACTIVE
    renamed: tuple[Renamed, ...] = ()
    """The former names of states: where a death or a restore has left one under such a name, it is found there."""
    refused: tuple[Plan, ...] = ()
    """The plans of the attempts that these decisions are about, as far as the ledger has them."""
    added: Added = field(default=Added(), compare=False)
    """What the description that was given with this look or registration brings."""

    @property
    def pinned(self) -> tuple[int, int] | None:
        """Txid and attempt of what is pinned."""
        return (self.pin.txid, self.pin.attempt) if self.pin is not None else None

    def start_of(self, stream: str) -> str | None:
        """Return where the reset lets a stream begin; None: as its spout says.

        A stream that was added after the reset is none of its streams.
        """
        reset = self.reset
        if reset is None or reset.start is None:
            return None
        if reset.streams is None:  # an older version's: those that began with the incarnation
            return reset.start if self.starts is None else None
        return reset.start if stream in reset.streams else None
