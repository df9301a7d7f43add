"""What is tried: a level, a fault and how often it strikes; and what came of it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from trident import Level, RunOptions
from trident.spouts import AckingSpout

MAX_PENDING: Final = 2_000
"""How many messages a spout had under way where they were acked: what a fault can double, in the study as here."""
MOST_LOST: Final = RunOptions().max_pending * AckingSpout.max_batch_size
"""What a fault can lose at most once: as many messages as the batches hold that may be recorded and not written."""


class Fault(StrEnum):
    """What goes wrong; the harness itself drops and doubles nothing."""

    NONE = "none"
    ACKER = "acker"
    """The table of an acker is lost, with all that it knows of messages under way."""
    SPOUT = "spout"
    """The process of the spout is killed, with all that it has under way."""
    BEFORE_EMIT = "operation, before it emits"
    """The user's function raises at a number, before it has emitted anything of it."""
    AFTER_EMIT = "operation, after it has emitted"
    """The same behind what it has emitted."""
    WORKER = "operation's process"
    """The Python worker that runs the user's function is killed."""


@dataclass(frozen=True, slots=True)
class Case:
    """One run: so many numbers, and so many faults spread evenly over them."""

    level: Level
    fault: Fault
    faults: int
    numbers: int

    def strikes_at(self) -> tuple[int, ...]:
        """Return the numbers at which a fault strikes."""
        return tuple(self.numbers * place // (self.faults + 1) for place in range(1, self.faults + 1))


@dataclass(frozen=True, slots=True)
class Outcome:
    """What arrived in the table."""

    case: Case
    distinct: int
    """Numbers that were sent, and are there."""
    twice: int
    """Numbers that came twice."""
    oftener: int
    """Numbers that came three times or more."""
    total: int
    """The sum of all that came."""
    struck: int
    """How many faults struck."""
    seconds: float
    strangers: int
    """Rows with what nobody has sent."""

    @property
    def lost(self) -> int:
        """Numbers that did not arrive."""
        return self.case.numbers - self.distinct

    @property
    def problem(self) -> str | None:
        """What the level has promised and not kept; None for nothing."""
        case = self.case
        if self.struck != case.faults:
            return f"{self.struck} of {case.faults} faults struck"
        if self.strangers:
            return f"{self.strangers:,} rows of what nobody sent"
        if self.lost and (case.level is not Level.AT_MOST_ONCE or not case.faults):
            return f"{self.lost:,} lost"
        if (self.twice or self.oftener) and (case.level is not Level.AT_LEAST_ONCE or not case.faults):
            return f"{self.twice + self.oftener:,} doubled"
        if self.lost > case.faults * MOST_LOST:
            return f"{self.lost:,} lost, more than the faults explain"
        if self.twice + self.oftener > case.faults * MAX_PENDING:
            return f"{self.twice + self.oftener:,} doubled, more than the faults explain"
        exact = case.numbers * (case.numbers + 1) // 2
        if case.level is Level.EXACTLY_ONCE and self.total != exact:
            return f"the sum is {self.total:,} and not {exact:,}"
        return None
