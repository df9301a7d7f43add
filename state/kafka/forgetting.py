"""A Kafka sink that its topology lets go of: its marker stands nowhere any more, and keeps the epoch."""

from __future__ import annotations

from dataclasses import dataclass

from trident.base.crash_points import CrashPoint, reached
from trident.base.errors import MismatchError
from trident.base.identity import Epoch, Owner
from trident.state.kafka.marker import Marker
from trident.state.kafka.markers import Change
from trident.state.kafka.moves import letting_go
from trident.state.kafka.outbox.store import OutboxStore, owned_in
from trident.state.kafka.sender import KafkaSender
from trident.state.maps.blobs import BlobStore


@dataclass(frozen=True, slots=True)
class KafkaForgetting:
    """See `Forgettable`; what was sent stays.

    The marker is no tombstone of its topic: compaction would take it, and with it the epoch that refuses an old owner.
    """

    sender: KafkaSender
    blobs: BlobStore

    def check_forget(self, owner: Owner, epoch: Epoch, drops: bool) -> None:
        """Look whose the marker is."""
        require_own_marker(self.sender, owner, epoch)

    def is_let_go(self, owner: Owner) -> bool:
        """Ask the marker."""
        return marker_stands_nowhere(self.sender, owner)

    def forget(self, owner: Owner, epoch: Epoch, drops: bool) -> None:
        """Take the position out of the marker, then delete what is staged, as it was listed before."""
        lying, files = self.blobs.lying(owner.topology), self.sender.files_at_drop(owner)
        self.sender.let_go(owner, epoch)
        self.blobs.delete(owner.topology, lying)
        self.sender.delete_at_drop(owner, files)


@dataclass(frozen=True, slots=True)
class OutboxForgetting:
    """See `Forgettable`; all that is done was sent before it was decided."""

    sender: KafkaSender
    outbox: OutboxStore

    def check_forget(self, owner: Owner, epoch: Epoch, drops: bool) -> None:
        """Look whose marker and outbox are."""
        require_own_marker(self.sender, owner, epoch)
        row = self.outbox.look(owner.topology)
        if row is not None and row.position.owner != owner:
            raise MismatchError(f"{self.sender} is not of incarnation {owner.incarnation}; nothing was changed")

    def is_let_go(self, owner: Owner) -> bool:
        """Ask the marker, and the outbox."""
        return marker_stands_nowhere(self.sender, owner) and self.outbox.look(owner.topology) is None

    def forget(self, owner: Owner, epoch: Epoch, drops: bool) -> None:
        """Take the position out of the marker, and then beside the ledger, where its epoch stays."""
        with self.outbox.work_for(owner.topology, epoch) as transaction:
            row = owned_in(self.outbox, transaction, owner, epoch)
            if row is not None and self.outbox.has_waiting(transaction, owner.topology, row.newest_txid):
                raise MismatchError(
                    f"{self.sender} has records waiting that were not sent; they were not deleted: start the topology "
                    "with the version of this library that has laid them down"
                )
        files = self.sender.files_at_drop(owner)
        self.sender.let_go(owner, epoch)
        self.sender.delete_at_drop(owner, files)
        reached(CrashPoint.BETWEEN_FORGETTINGS)
        with self.outbox.work_for(owner.topology, epoch) as transaction:
            if owned_in(self.outbox, transaction, owner, epoch) is not None:
                self.outbox.let_go(transaction, owner, epoch)
            reached(CrashPoint.IN_FORGETTING)


def require_own_marker(sender: KafkaSender, owner: Owner, epoch: Epoch) -> None:
    """Raise unless the newest marker, if there is any, is this owner's and under no later epoch."""

    def decided(found: Marker | None) -> Change | None:
        return None if found is None else letting_go(owner, epoch, sender.name)(found, found.cluster)

    decided(sender.markers.read(owner.topology))


def marker_stands_nowhere(sender: KafkaSender, owner: Owner) -> bool:
    """Tell whether the newest marker is this owner's, and without a position."""
    found = sender.markers.read(owner.topology)
    return found is not None and found.position is None and found.owner == owner
