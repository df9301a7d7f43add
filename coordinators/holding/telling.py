"""What a take-over says: of what is new, and of rows that are gone where a person had decided something before."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from trident.base.advice import RESET_CLEARING
from trident.base.errors import MismatchError, RowsGoneError
from trident.coordinators.decided import ResetDecision
from trident.coordinators.registered import Snapshot
from trident.state.target import Target

_log = logging.getLogger("trident.coordinator")
_NEW = (
    "topology=%s state=%s is new and holds what comes after txid %d, nothing of what was before; how to fill it with "
    "that, too: trident status"
)
_NEW_SINK = "topology=%s sink=%s is new: what comes after txid %d leaves by it, and nothing of what was before"


def say_new(snapshot: Snapshot, name: str, store: Target) -> None:
    """Log since when a state or sink is there, unless that is the beginning."""
    if snapshot.done > snapshot.birth_txid:
        said = _NEW_SINK if store.capabilities.keeps_what_left else _NEW
        _log.warning(said, snapshot.owner.topology, name, snapshot.done)


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
