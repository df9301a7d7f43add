"""Why a topology stopped at a txid, and what a person decided about it: frozen values that the ledger keeps."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Self

from trident.coordinators.planned import StartPosition


class StopKind(StrEnum):
    """Why a coordinator could not go on with a txid."""

    REFUSED = "refused"
    """A state refused its staged updates for good; the next start stops until a person has decided."""
    GAVE_UP = "gave up"
    """It failed too often; the next start tries it again."""
    BAD_RECORD = "bad record"
    """A record did not decode and its stream says stop; the next start tries it again."""
    UNPROCESSABLE = "unprocessable"
    """Its records can't be processed as the topology is; the next start tries it again."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """The txid that a coordinator stopped at; `state` is empty when no single state was the cause."""

    txid: int
    attempt: int
    kind: StopKind
    state: str
    reason: str

    @property
    def blocks(self) -> bool:
        """Whether nothing runs until a person has decided: the same rows would be refused again."""
        return self.kind is StopKind.REFUSED


class DecisionKind(StrEnum):
    """What a person can decide, beside a reset: about a txid that waits, or about the topology behind what is done."""

    RETRY = "retry"
    """Try it again: the cause is mended."""
    DIVERT = "divert"
    """Take one state's staged rows out of it, into the ledger; the others keep theirs."""
    DIVERT_REFUSED = "divert refused"
    """Take only those of its rows out that the state refuses, each by itself; where they can't be told, all."""
    UNDO = "undo"
    """Bring every state back to the txid before, and plan it again."""
    DROP = "drop"
    """Take a state or sink out of the topology, after the txid that is done; what it holds stays where it is."""
    FORGET = "forget"
    """Let go of the topology: of each state and sink, then of all that the ledger has of it."""
    RENAME = "rename"
    """Give states other names, behind the txid that is done; their rows and where they stand stay what they are."""
    REAPPLY = "reapply"
    """Put the rows that a divert took out back into their state, by a txid of its own; recorded with its pin."""

    @property
    def is_of_topology(self) -> bool:
        """Whether it is about what the topology is, behind what is done, and carried out as it is recorded."""
        return self in (DecisionKind.DROP, DecisionKind.RENAME)

    @property
    def diverts(self) -> bool:
        """Whether it takes rows of a state out of a txid."""
        return self in (DecisionKind.DIVERT, DecisionKind.DIVERT_REFUSED)


@dataclass(frozen=True, slots=True)
class Decision:
    """A person's recorded decision; one that is open is finished at take-over, before any pin is rolled forward.

    Of a forget `state` says what becomes of the tables, of a reapply which rows it puts back (`RowsOf`).

    `attempt` is the pinned one; where nothing is pinned, the one that was refused: a divert is then held
    for the attempt that commits.
    """

    kind: DecisionKind
    txid: int
    attempt: int
    state: str = ""
    decided_by: str = field(default="", compare=False)

    def __str__(self) -> str:
        if self.kind is DecisionKind.DROP:
            return f"{self.kind} of {self.state!r} after txid {self.txid}"
        if self.kind is DecisionKind.FORGET:
            return f"{self.kind} after txid {self.txid} (tables: {self.state})"
        if self.kind is DecisionKind.RENAME:
            return f"{self.kind} {self.state} after txid {self.txid}"
        if self.kind is DecisionKind.REAPPLY:
            return f"{self.kind} of txid {self.state} as txid {self.txid}"
        where = f" of state {self.state!r}" if self.state else ""
        if self.kind is DecisionKind.DIVERT_REFUSED:
            return f"divert of what is refused of txid {self.txid}{where}"
        return f"{self.kind} of txid {self.txid}{where}"


@dataclass(frozen=True, slots=True)
class Diverted:
    """The rows of one state that a held decision took out of a batch, each as JSON text with exact numbers."""

    state: str
    rows: tuple[str, ...] = field(repr=False)


@dataclass(frozen=True, slots=True)
class RowsOf:
    """Which diverted rows are meant, as a decision to put them back says it."""

    txid: int
    state: str
    """The name that it had then."""

    def __str__(self) -> str:
        return f"{self.txid} of {self.state}"

    @classmethod
    def named(cls, text: str) -> Self:
        """Return what a decision, or a plan, says."""
        txid, _, state = text.partition(" of ")
        return cls(int(txid), state)


@dataclass(frozen=True, slots=True)
class TakenOut:
    """The rows of one state that a person took out of a txid, and what became of them since."""

    of: RowsOf
    incarnation: str
    rows: tuple[str, ...] = field(repr=False)
    is_held: bool = False
    """Whether the attempt that left them out was made for that: without a value where a sum has left its type."""
    put_back: int | None = None
    """The txid that has put them back."""


class ForgottenTables(StrEnum):
    """What becomes of the tables that a topology's states have made, once it is let go of."""

    KEEP = "keep"
    """They stay with all rows and columns, and are nobody's."""
    DROP = "drop"
    """They go with their rows; those that sinks have written to stay."""


@dataclass(frozen=True, slots=True)
class LeftBehind:
    """What only the ledger has of a topology's records, and lets go of with it."""

    dead_letters: int
    diverted: int
    """Rows that a person took out of a batch."""


class ResetStart(StrEnum):
    """Where a reset lets the streams begin that there are; those that are added later begin as their spouts say."""

    RESUME = "resume"
    """Where the last txid that was done had stopped, partition by partition."""
    EARLIEST = "earliest"
    LATEST = "latest"


@dataclass(frozen=True, slots=True)
class ResetDecision:
    """A person's recorded decision to open a new incarnation; finished at take-over if it was cut off."""

    incarnation: str
    birth_txid: int
    states: str
    """"clear" or "adopt"."""
    start: str | None
    """Where to begin, once: a `ResetStart`, an ISO time or `StartOffsets`; None: as the spouts say."""
    streams: tuple[str, ...] | None = None
    """The streams that there were, which `start` is for; None: an older version did not write them down."""
    begins: tuple[StartPosition, ...] | None = None
    """Where streams begin, in numbers, if that was known when it was decided: what it resumes, or hands on."""
    stood: tuple[StartPosition, ...] | None = None
    """Up to where all records are in the rows, at the last txid that was done: what a later reset may resume from while
    nothing more is done; None: nobody knows. With emptied states: up to where they had been read."""
    foreign: tuple[str, ...] = ()
    """Incarnations of a ledger that was lost: states that have not followed yet are still of these."""
