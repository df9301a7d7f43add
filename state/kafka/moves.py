"""How a marker moves without records: a fence, a birth, a new life."""

from __future__ import annotations

from trident.base.advice import RESET_LOST_CLEARING
from trident.base.errors import MismatchError
from trident.base.identity import Epoch, Owner
from trident.state.kafka.marker import Marker
from trident.state.kafka.markers import Change, Decide, owned
from trident.state.positions import Position, check_epoch, stands


def fencing(owner: Owner, epoch: Epoch, name: str) -> Decide:
    """Leave a marker of this epoch, the first one too."""

    def fence(found: Marker | None, cluster: str) -> Change | None:
        check_epoch(found.epoch if found else None, epoch, name)
        if found is None:
            return Change(Marker(owner, epoch, cluster))
        return Change(found.fenced(owner, epoch)) if found.epoch != epoch else None

    return fence


def bearing(owner: Owner, epoch: Epoch, birth_txid: int, name: str) -> Decide:
    """Write the first marker with a position."""

    def bear(found: Marker | None, _: str) -> Change | None:
        mine = owned(found, epoch, name)
        if mine.position is None:
            if birth_txid < mine.used_up:
                raise _let_go_later(owner, birth_txid, mine.used_up, name)
            return Change(mine.moved(Position(owner, birth_txid, 0, birth_txid), epoch))
        if mine.position.owner != owner:
            raise MismatchError(f"sink {name!r} {stands(mine.position)}; nothing was changed")
        return None

    return bear


def _let_go_later(owner: Owner, birth_txid: int, used_up: int, name: str) -> MismatchError:
    return MismatchError(
        f"sink {name!r} was let go of when topology {owner.topology!r} was forgotten, with txid {used_up} sent; the "
        f"ledger knows nothing of that, and would have it begin after txid {birth_txid}: the ledger was restored from "
        "a backup, or another one took its place. Nothing was sent, for what was would be sent again: restore the "
        f"newest ledger; or where the topology is to run again, {RESET_LOST_CLEARING}"
    )


def beginning_anew(owner: Owner, epoch: Epoch, birth_txid: int, name: str) -> Decide:
    """Start at the birth txid under a new owner, whatever was sent before."""

    def begin(found: Marker | None, _: str) -> Change | None:
        mine = owned(found, epoch, name)
        if mine.position is not None and mine.position.owner == owner:
            return None
        return Change(mine.moved(Position(owner, birth_txid, 0, birth_txid), epoch))

    return begin


def letting_go(owner: Owner, epoch: Epoch, name: str) -> Decide:
    """Leave a marker that stands nowhere, of this epoch; one that stands nowhere already stays."""

    def let_go(found: Marker | None, _: str) -> Change | None:
        mine = owned(found, epoch, name)
        if mine.epoch.line != epoch.line:
            raise MismatchError(f"sink {name!r} has a marker of another ledger's; nothing was changed")
        if mine.position is None:
            return None
        if mine.position.owner != owner:
            raise MismatchError(f"sink {name!r} {stands(mine.position)}; nothing was changed")
        return Change(Marker(owner, epoch, mine.cluster, used_up=mine.position.txid))

    return let_go
