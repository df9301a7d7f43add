"""Which rows of a txid can't be read again, as a view of the ledger has them, and what a command says of that."""

from __future__ import annotations

from trident.coordinators.gone import Gone
from trident.coordinators.ledger.view import LedgerView, TopologyStatus


def gone_of(view: LedgerView, standing: TopologyStatus, txid: int) -> Gone | None:
    """Return what of a txid's newest attempt ended with its process; None where all can be had, or one is at it."""
    if not standing.received or standing.is_held or txid <= standing.done or txid == standing.pinned:
        return None
    attempts = [row for row in view.txid(standing.name, txid).attempts if row.incarnation == standing.incarnation]
    newest = max(attempts, key=lambda row: row.attempt, default=None)
    return None if newest is None else Gone.of(standing.received, newest.ranges)


def gone_by_undoing(view: LedgerView, standing: TopologyStatus, txid: int) -> Gone | None:
    """Return what of a pinned txid can't be read again once it is undone."""
    pins = view.txid(standing.name, txid).pin if standing.received and txid == standing.pinned else ()
    return Gone.of(standing.received, pins[-1].plan.ranges) if pins else None


def goes_on(gone: Gone | None) -> str:
    """Return what is said behind the words that a txid goes on."""
    return "" if gone is None else f", without {gone.rows}: {gone.fate}"


def nothing_to_divert(gone: Gone) -> str:
    """Return what a divert comes to whose rows nobody has any more."""
    return f"there is nothing to divert of {gone.rows}: {gone.fate}. This decision is void then"
