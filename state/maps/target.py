"""An opened backing map."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from trident.base.crash_points import CrashPoint, reached
from trident.base.errors import MismatchError, RetryableError
from trident.base.identity import BatchId, Epoch, Owner
from trident.base.user_code import Calls
from trident.state.capabilities import Capabilities
from trident.state.evolving import HeldColumns, coming_columns, held_layout
from trident.state.folding import Row, StoredRow, check_fit, keyed_rows, merged_with
from trident.state.maps.ageing import Ageing, aged, ageing_of, last_before
from trident.state.maps.expiring import MapExpiring
from trident.state.maps.maps import BackingKey, BackingValue, TimedValue
from trident.state.maps.place import (
    ROUNDS,
    MapPlace,
    chunks,
    epoch_of,
    fence_only,
    position_of,
    reserved_value,
    time_of,
)
from trident.state.maps.querying import MapQuerying
from trident.state.maps.raising import applying
from trident.state.maps.resetting import MapResetting
from trident.state.maps.undoing import MapUndoing
from trident.state.positions import Position, check_epoch, is_held, is_in, put_back, stands
from trident.state.rows import conform
from trident.state.staged import HeldUpdates, StagedUpdates, WrittenUpdates, up_to


class MapTarget:
    """See `Target` for what holds of every method."""

    def __init__(self, place: MapPlace) -> None:
        self._place = place
        self._opened_with = place.layout
        self._expiring = MapExpiring(place, place.expire_after) if place.expire_after is not None else None
        self._capabilities = Capabilities(
            undoing=MapUndoing(place),
            resetting=MapResetting(place),
            diverting=self,
            querying=MapQuerying(place),
            expiring=self._expiring,
            evolving=self,
        )

    @property
    def name(self) -> str:
        """The state's name."""
        return self._place.name

    @property
    def capabilities(self) -> Capabilities:
        """Neither the ledger's transactions nor tasks, which may run twice or late, ever reach the map."""
        return self._capabilities

    def keep(self, columns: HeldColumns) -> None:
        """Read and write rows in the order in which they lie in the map; what they are too short for is not there."""
        coming_columns(self._opened_with, columns)
        self._place.columns, self._place.layout = columns, held_layout(self._opened_with, columns)
        self._place.cache.forget()

    def look(self, topology: str, registers: bool = False) -> Position | None:
        """Return where the state stands; the table for staged updates is the ledger's affair."""
        self._place.is_claimed(topology)
        return position_of(self._place.read(topology))

    def prepare(self) -> None:
        """Make the table for staged updates in the ledger's database."""
        self._place.blobs.prepare()

    def raise_fence(self, owner: Owner, epoch: Epoch) -> None:
        """Put the epoch under the reserved key; a put of a stopped owner may still come after it."""
        self._place.cache.forget()
        found = self._place.read(owner.topology)
        check_epoch(epoch_of(found), epoch, self.name)
        position = position_of(found)
        raised = reserved_value(position, epoch, time_of(found)) if position else fence_only(owner, epoch)
        if not self._place.claim(owner) or not self._place.replace_reserved(found, raised):
            raise RetryableError(
                f"state {self.name!r}: the conditional put of its position was refused. The owner before has just "
                "written it, or the map compares something else than the values that it returned (their bytes, say); "
                "nothing was changed"
            )

    def position(self, topology: str) -> Position | None:
        """Return where the state stands, None when it has never been registered."""
        return position_of(self._place.read(topology))

    def register(self, owner: Owner, epoch: Epoch, birth_txid: int) -> None:
        """Record a new state's owner and birth txid; whether the map has rows can't be seen."""
        found = self._place.owned(owner, epoch)
        position = position_of(found)
        if position is None:
            self._place.put_reserved(found, reserved_value(Position(owner, birth_txid, 0, birth_txid), epoch))
        elif position.owner != owner:
            raise MismatchError(f"state {self.name!r} {stands(position)}; nothing was changed")

    def stage(self, batch: BatchId, updates: HeldUpdates) -> StagedUpdates:
        """Check the rows and commit them to the ledger's database."""
        rows = conform(updates.rows, self._place.layout.schema())
        return WrittenUpdates((self._place.blobs.put(batch, rows),) if rows.num_rows else ())

    def apply(self, batch: BatchId, updates: StagedUpdates) -> None:
        """Put the batch chunk by chunk, then the position; repeated after a crash, in-keys stay as they are."""
        found = self._place.owned(batch.owner, batch.epoch, str(batch))
        position = position_of(found)
        if is_in(position, batch, self.name):
            return
        assert position is not None
        rows = self._place.rows_of(batch, updates)
        keyed, ageing, expired = keyed_rows(self._place.layout, rows), ageing_of(rows), 0
        moved = Position(batch.owner, batch.txid, batch.attempt, position.birth_txid)
        try:
            if ageing is not None and self._expiring is not None:
                self._expiring.remove_expired(batch, found, ageing, len(keyed))
            for chunk in chunks(list(keyed.items()), self._place.chunk_rows):
                expired += self._apply_chunk(batch, dict(chunk), ageing)
                reached(CrashPoint.BETWEEN_CHUNKS, batch.txid)
            if self._expiring is not None:
                self._expiring.count_touched(batch.txid, expired)
            reached(CrashPoint.BEFORE_POSITION, batch.txid)
            self._place.put_reserved(found, reserved_value(moved, batch.epoch, ageing.at if ageing else None))
        except BaseException:
            self._place.cache.forget()  # a put whose end nobody knows may have stored anything, now or later
            raise

    def staged_rows(self, batch: BatchId, updates: StagedUpdates) -> pa.Table:
        """Return all staged rows of a batch."""
        rows = updates.rows if isinstance(updates, HeldUpdates) else self._place.rows_of(batch, updates)
        return rows.replace_schema_metadata(None)

    def clean_up(self, owner: Owner, epoch: Epoch, done: int) -> None:
        """Delete staged updates of txids up to `done`, never beyond what is applied."""
        lying = self._place.blobs.lying(owner.topology)
        if (position := self._held_position(owner, epoch)) is not None:
            self._place.blobs.delete(owner.topology, up_to(min(done, position.txid), lying))

    def forget_staging(self, owner: Owner, epoch: Epoch) -> None:
        """Delete all staged updates."""
        lying = self._place.blobs.lying(owner.topology)
        if self._held_position(owner, epoch) is None:
            raise put_back(self.name)
        self._place.blobs.delete(owner.topology, lying)

    def _held_position(self, owner: Owner, epoch: Epoch) -> Position | None:
        """Return where it stands, None where another epoch than this one, an older one, stands beside it."""
        found = self._place.owned(owner, epoch)
        position = position_of(found)
        if position is None or position.owner != owner:
            raise MismatchError(f"state {self.name!r} is not of {owner.topology!r}; nothing was deleted")
        return position if is_held(epoch_of(found), epoch, self.name) else None

    def close(self) -> None:
        """Let go of the thread that calls the map; the map is the user's."""
        self._place.users_code.close()

    def _apply_chunk(self, batch: BatchId, staged: dict[BackingKey, Row], ageing: Ageing | None) -> int:
        """Put the chunk; returns how many of its keys had expired before the batch."""
        left, aim, over = dict(staged), applying(batch, self._place.kind), set[BackingKey]()
        for _ in range(ROUNDS):
            keys = list(left)
            known = self._place.cache.known(keys)
            asked = self._place.get([key for key in keys if key not in known], str(batch))
            before = {**known, **asked}
            after = self._merged(batch, before, left, ageing)
            check_fit(self._place.layout, _plain(after))
            if ageing is not None:
                over -= left.keys()
                over |= {key for key in keys if ageing.is_over(last_before(before[key], batch.txid))}
            changed = [key for key in keys if before[key] != after[key]]
            refused = self._place.put([(key, before[key], after[key]) for key in changed], aim)
            if not refused:
                self._place.cache.note(after)
                return len(over)
            self._place.cache.forget()
            self._place.owned(batch.owner, batch.epoch, str(batch))
            left = {key: staged[key] for key in refused}
        raise MismatchError(
            f"{batch}: somebody else keeps changing {len(left)} keys of state {self.name!r}; the batch is partly "
            "applied and will be completed when it is applied again: stop the other writer"
        )

    def _merged(
        self,
        batch: BatchId,
        before: Mapping[BackingKey, BackingValue | None],
        staged: Mapping[BackingKey, Row],
        ageing: Ageing | None,
    ) -> dict[Row, StoredRow | TimedValue]:
        """Return what is to be stored under each key; combiners run in the thread that may be left behind."""
        place = self._place

        def merge(calls: Calls) -> dict[Row, StoredRow | TimedValue]:
            after: dict[Row, StoredRow | TimedValue] = {}
            for key, row in staged.items():
                calls.begin()
                after[key] = aged(place.kind, before[key], batch.txid, merged_with(place.layout, row), ageing)
            return after

        if all(column.combine is None for column in place.layout.values):
            return merge(Calls())
        return place.users_code.run(f"a combiner of state {self.name!r}", merge)


def _plain(after: Mapping[Row, StoredRow | TimedValue]) -> dict[Row, StoredRow]:
    return {key: value.stored if isinstance(value, TimedValue) else value for key, value in after.items()}
