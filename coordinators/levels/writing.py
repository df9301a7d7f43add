"""What was made of a batch, written at once: by the driver here, or by tasks while they made it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Final, Protocol

import pyarrow as pa

from trident.base.crash_points import CrashPoint, reached
from trident.base.errors import FencedError, OutcomeUnknownError, RefusedError, TridentError
from trident.base.identity import BatchId
from trident.coordinators.batches.stopped import StoppedError
from trident.coordinators.decided import Diverted, Refusal, StopKind
from trident.coordinators.levels.ending import WriteUnknownError, is_lost_alone
from trident.coordinators.retrying import Repeater
from trident.state.capabilities import Transaction, plain_of
from trident.state.plainly import WritesPlainly
from trident.state.staged import AppliedUpdates, HeldUpdates, StagedUpdates
from trident.state.target import Target

_NOTHING: Final = re.compile(r"nothing (of (the|this|its) (batch|txid) )?was applied", re.IGNORECASE)
_STAYS: Final = "what tasks have written of it stays (and is written again)"


def keep_made(
    stores: Mapping[str, Target],
    batch: BatchId,
    at: datetime,
    made: Mapping[str, StagedUpdates],
    diverts: tuple[str, ...],
) -> tuple[Mapping[str, StagedUpdates], tuple[Diverted, ...]]:
    """At least once: return what was made as it is, to be written in the batch's turn. See `Stage`."""
    return made, ()


@dataclass(frozen=True, slots=True)
class WriteRepeatedly:
    """At least once: writes what the driver holds; what fails, or nobody knows of, is written again."""

    stores: Mapping[str, Target]
    repeater: Repeater

    def write(self, batch: BatchId, made: Mapping[str, StagedUpdates | AppliedUpdates]) -> Mapping[str, AppliedUpdates]:
        """Write to one target after the other; returns what is recorded of them, which is how many rows there were.

        Raises StoppedError for rows that a target refuses.
        """
        for name, updates in made.items():
            if isinstance(updates, HeldUpdates) and updates.count:
                write = partial(plain_of(self.stores[name]).write, batch, updates.rows)
                try:
                    self.repeater.call(f"writing {batch} to {name!r}", write)
                except RefusedError as error:
                    raise refused_plainly(name, batch, error) from error
            reached(CrashPoint.AFTER_STAGING, batch.txid)
        return _counted(made)


OwnedBy = Callable[[BatchId, Transaction | None], None]
"""Raises FencedError unless the owner of a batch still holds the topology, in a transaction of the ledger's database
or, without one, at this moment."""


class HearsOfTargets(Protocol):
    """Hears, of each target that a batch has rows for, whether it has them."""

    def __call__(self, target: str, *, is_written: bool) -> None:
        """Hear of one; any thread."""


@dataclass(frozen=True, slots=True)
class WriteOnce:
    """At most once: written again is only what surely was not written. See `Stage`.

    An owner that was replaced writes nothing: after a reset its successor may have read the same records. Beside the
    ledger a target holds the fence in the transaction that writes. Of another one the ledger is asked before each try,
    and who stands still between the answer and the write writes all the same.
    """

    repeater: Repeater
    claim: Callable[[BatchId], None]
    """Raises unless the batch may be written still: one that was given up must not be any more."""
    owned_by: OwnedBy
    ended_at: HearsOfTargets

    def __call__(
        self,
        stores: Mapping[str, Target],
        batch: BatchId,
        at: datetime,
        made: Mapping[str, StagedUpdates],
        diverts: tuple[str, ...],
    ) -> tuple[Mapping[str, AppliedUpdates], tuple[Diverted, ...]]:
        """Write to each target, also when another one has refused; raises what ends the run, else what was first."""
        self.claim(batch)
        wrong: list[TridentError] = []
        for name, updates in made.items():
            assert isinstance(updates, HeldUpdates), "tasks may run twice, so they write nothing at this level"
            if updates.count:
                try:
                    self._write(plain_of(stores[name]), name, batch, updates.rows)
                except FencedError:
                    raise
                except TridentError as error:
                    wrong.append(error)
                    self.ended_at(name, is_written=False)
                else:
                    self.ended_at(name, is_written=True)
            reached(CrashPoint.AFTER_STAGING, batch.txid)
        if wrong:
            raise next((error for error in wrong if not is_lost_alone(error)), wrong[0])
        return _counted(made), ()

    def _write(self, plain: WritesPlainly, name: str, batch: BatchId, rows: pa.Table) -> None:
        def once() -> None:
            if not plain.is_beside:
                self.owned_by(batch, None)
            try:
                plain.write(batch, rows, partial(self.owned_by, batch))
            except OutcomeUnknownError as error:
                raise WriteUnknownError(f"whether {batch} was written to {name!r} is not known: {error}") from error

        self.repeater.call(f"writing {batch} to {name!r}", once)


def _counted(made: Mapping[str, StagedUpdates | AppliedUpdates]) -> dict[str, AppliedUpdates]:
    return {name: AppliedUpdates(updates.count) for name, updates in made.items()}


def refused_plainly(name: str, batch: BatchId, error: RefusedError) -> StoppedError:
    """Return the error of rows that a target refuses: nobody has to decide, since nothing waits for a decision."""
    text = (
        f"{name!r} refused rows of {batch} for good: {error}. What the batch has beside them may be written already, "
        "and is written again: the next start tries the whole batch. Mend what refuses them"
    )
    return StoppedError(text, Refusal(batch.txid, batch.attempt, StopKind.UNPROCESSABLE, "", text))


def not_recorded(batch: BatchId, error: RefusedError, left: str) -> StoppedError:
    """Return the error of a record that the ledger's database refuses: nobody has to decide, it is only to be mended.

    `left` says what there is of the batch.
    """
    why = str(error).removesuffix("; nothing was written")  # which is said of the ledger's tables only
    text = (
        f"the ledger's database refused the record of {batch} for good: {why}. {left}: the next start tries it "
        "again. Mend what refuses it (a trigger or constraint of the ledger's tables)"
    )
    return StoppedError(text, Refusal(batch.txid, batch.attempt, StopKind.UNPROCESSABLE, "", text))


def as_written(stopped: StoppedError) -> StoppedError:
    """At least once: return it without the word that nothing was applied, as tasks may have written by then."""
    refusal = replace(stopped.refusal, reason=_said(stopped.refusal.reason))
    said = StoppedError(
        _said(stopped.text), refusal, stopped.left_out, is_pinned=stopped.is_pinned, goes_on=stopped.goes_on
    )
    said.__cause__ = stopped.__cause__
    return said.with_traceback(stopped.__traceback__)


def tell_of_written(error: TridentError) -> None:
    """At least once: change the text of an attempt's error likewise, for the log, the ledger and listeners."""
    match error.args:
        case (str() as text,):
            error.args = (_said(text),)


def _said(text: str) -> str:
    return _NOTHING.sub(lambda found: _STAYS.capitalize() if found.group()[0] == "N" else _STAYS, text)
