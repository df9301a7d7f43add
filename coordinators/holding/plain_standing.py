"""What is found of a target that stands nowhere, held against what the ledger knows of it; pure.

It keeps no position, so less can be told than of one that does: whose it is, that it is gone, that it is empty.
"""

from __future__ import annotations

from trident.base.advice import RESET_ANEW, RESET_CLEARING, RESET_KEEPING_ROWS, RESET_LOST
from trident.base.levels import Level
from trident.coordinators.holding.standing import ApartError
from trident.coordinators.registered import Birth, Snapshot
from trident.state.plainly import PlainFound


def check_plain(snapshot: Snapshot, name: str, found: PlainFound, ahead: int, *, is_told: bool = False) -> None:
    """Raise ApartError unless it may be the one that the ledger knows, or one that is new and empty.

    `ahead` is how many txids it may have that are not done; `is_told` is that a person takes what is there for its own.
    """
    birth = _birth_of(snapshot, name)
    if found.mark is None:
        if birth is not None and _has_something(snapshot, birth):
            raise _gone(snapshot, name, birth) if found.is_missing else _another(snapshot, name, birth)
        if found.has_rows:
            raise _unowned(name)
        return
    if found.mark.owner.incarnation != snapshot.owner.incarnation:
        raise _of_another(snapshot, name, found.mark.owner.incarnation)
    if found.mark.is_of_another and not found.is_missing and not is_told:
        raise _exchanged(name)
    if found.mark.newest_txid > snapshot.done + ahead:
        raise _ahead_of(snapshot, name, found.mark.newest_txid)
    if birth is not None:
        check_kept(snapshot, name, found)


def check_unknown(topology: str, name: str, found: PlainFound) -> None:
    """Raise ApartError for one that has rows, or is noted to be somebody's, where the ledger knows no such topology."""
    if found.mark is not None:
        raise ApartError(
            f"state {name!r} belongs to incarnation {found.mark.owner.incarnation} of topology {topology!r}, which the "
            "ledger does not know: it is another one, or it was lost. Nothing was changed.",
            f"Correct the ledger's address; if the ledger is lost for good, {RESET_LOST}.",
        )
    if found.has_rows:
        raise _unowned(name)


def txids_ahead(level: Level) -> int:
    """Return how many txids may have been written that are not recorded."""
    return 1 if level is Level.AT_LEAST_ONCE else 0


def check_kept(snapshot: Snapshot, name: str, found: PlainFound) -> None:
    """Raise ApartError where rows are gone that it has had."""
    birth = _birth_of(snapshot, name)
    if found.is_missing and birth is not None and (found.mark is not None or _has_something(snapshot, birth)):
        raise _gone(snapshot, name, birth)
    if found.mark is not None and found.mark.had_rows and found.has_rows is False:
        raise ApartError(
            f"state {name!r} had rows and has none: its table was emptied, or restored without them. Nothing was "
            "changed.",
            f"Put them back, or {RESET_CLEARING}; with --start resume it goes on without them.",
        )


def _birth_of(snapshot: Snapshot, name: str) -> Birth | None:
    return next((birth for birth in snapshot.births if birth.state == name), None)


def _since(snapshot: Snapshot, birth: Birth) -> int:
    return snapshot.birth_txid if birth.txid is None else birth.txid


def _has_something(snapshot: Snapshot, birth: Birth) -> bool:
    """Whether anything was done since it was born: before that it may have been cut off before it was made."""
    return birth.with_rows or snapshot.done > _since(snapshot, birth)


def _gone(snapshot: Snapshot, name: str, birth: Birth) -> ApartError:
    return ApartError(
        f"state {name!r} is gone: {_known(snapshot, birth)}, but where it lives there is no table of it. It was moved "
        "or dropped, or its address is another one. Nothing was changed.",
        f"Correct the address, put it back, or {RESET_CLEARING}.",
    )


def _another(snapshot: Snapshot, name: str, birth: Birth) -> ApartError:
    return ApartError(
        f"state {name!r} is another one: {_known(snapshot, birth)}, but where it lives nothing says that the table is "
        "its own. It was exchanged, or restored without that, or its address is another one. Nothing was changed.",
        f"Correct the address, put back what was there, or {RESET_ANEW}.",
    )


def _exchanged(name: str) -> ApartError:
    return ApartError(
        f"the table of state {name!r} is another one than it has written to: it was dropped and made anew, exchanged, "
        "or restored without what is noted beside it. Nothing was changed.",
        f"Put back the one that was there, or {RESET_CLEARING}; if that was on purpose, {RESET_KEEPING_ROWS}.",
    )


def _unowned(name: str) -> ApartError:
    return ApartError(
        f"state {name!r} is new and its table has rows, of which nothing says whose they are: the ledger was lost with "
        "what was noted beside it, or they are somebody else's. Nothing was changed.",
        f"Empty it by hand or use another table, then it holds what comes from now on; or {RESET_ANEW}.",
    )


def _of_another(snapshot: Snapshot, name: str, incarnation: str) -> ApartError:
    return ApartError(
        f"state {name!r} belongs to incarnation {incarnation}, and topology {snapshot.owner.topology!r} is at "
        f"incarnation {snapshot.owner.incarnation}: one of them was restored from a backup, or the address is another "
        "one. Nothing was changed.",
        f"Correct the address, restore both to the same point, or {RESET_ANEW}.",
    )


def _ahead_of(snapshot: Snapshot, name: str, txid: int) -> ApartError:
    return ApartError(
        f"state {name!r} has rows of txid {txid}, and the ledger of topology {snapshot.owner.topology!r} has txid "
        f"{snapshot.done} done: the ledger was restored from a backup, or the address of state {name!r} is another "
        "one. Nothing was changed.",
        f"Correct the address, restore both to the same point; if the ledger can't be, {RESET_LOST}.",
    )


def _known(snapshot: Snapshot, birth: Birth) -> str:
    return (
        f"the ledger of topology {snapshot.owner.topology!r} (incarnation {snapshot.owner.incarnation}) has had it "
        f"since txid {_since(snapshot, birth)}, and has txid {snapshot.done} done"
    )
