"""What a take-over says of rows that are gone where a person had decided something about them before."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from trident.base.advice import RESET_CLEARING
from trident.base.errors import MismatchError, RowsGoneError
from trident.coordinators.decided import ResetDecision
from trident.coordinators.registered import Snapshot


@contextmanager
def of_what_comes_back(snapshot: Snapshot, name: str) -> Iterator[None]:
    """Tell that rows are gone of what was taken out before as that: whoever has deleted them knew why."""
    try:
        yield
    except RowsGoneError as error:
        if name not in snapshot.added.back:
            raise
        raise MismatchError(
            f"{error.found} {name!r} was taken out of the topology before: start the version without it, or, to take "
            "it back, put back what it held."
        ) from None


def can_not_be_kept(decision: ResetDecision, error: MismatchError) -> str:
    """Say that a recorded reset finds the rows gone that it was to keep."""
    clearing = RESET_CLEARING
    way = "" if clearing in str(error) else f". Restore it to the same point as the ledger, or {clearing}."
    return (
        f"the reset that keeps rows (to incarnation {decision.incarnation}) was recorded and can't be finished; states "
        f"that it has reached have kept theirs: {error}{way}"
    )
