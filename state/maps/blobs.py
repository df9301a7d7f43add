"""Where the staged updates of stores that can't stage lie: in the ledger's own database, as Arrow."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection, Mapping
from typing import Protocol

import pyarrow as pa
from sqlalchemy import BigInteger, Column, LargeBinary, MetaData, Table, Text, bindparam, delete, insert, select

from trident.base.errors import ConfigurationError, MismatchError
from trident.base.identity import BatchId
from trident.base.writes import WriteManifest, digest_of
from trident.state.databases.base import SqlDatabase
from trident.state.databases.versions import NumberedTables, step_to_missing
from trident.state.memory.database import MemoryDatabase
from trident.state.packing import pack, unpack
from trident.state.target import LedgerDatabase

_BLOBS = Table(
    "trident_staged_blob",
    MetaData(),
    Column("topology", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("txid", BigInteger, nullable=False),
    Column("attempt", BigInteger, nullable=False),
    Column("write_id", Text, primary_key=True),
    Column("payload", LargeBinary, nullable=False),
)
_VERSION_1 = {
    "trident_staged_blob": """
        CREATE TABLE trident_staged_blob (
            topology TEXT NOT NULL, state TEXT NOT NULL, txid BIGINT NOT NULL, attempt BIGINT NOT NULL,
            write_id TEXT NOT NULL, payload {bytes} NOT NULL,
            PRIMARY KEY (write_id))""",
}
BLOB_TABLES = NumberedTables(
    "the tables of staged updates (trident_staged_blob)",
    "trident_staged_blob_schema",
    (step_to_missing(_VERSION_1),),
)


class BlobStore(Protocol):
    """Keeps one state's staged updates until they are applied."""

    def prepare(self) -> None:
        """Make what is missing; idempotent."""

    def put(self, batch: BatchId, rows: pa.Table) -> WriteManifest:
        """Store rows durably under a fresh write id."""

    def get(self, batch: BatchId, write: WriteManifest) -> pa.Table:
        """Return the rows of an accepted write; raises MismatchError when they are not what was accepted."""

    def lying(self, topology: str) -> Mapping[str, int]:
        """Return the ids of all writes that lie there, each with its txid."""

    def delete(self, topology: str, write_ids: Collection[str]) -> None:
        """Delete these; ids are never used twice.

        Whoever deletes lists before it looks at its fence: what a successor stages behind that is not among them.
        """


def _draw_id() -> str:
    return uuid.uuid4().hex


def open_blobs(state: str, database: LedgerDatabase, draw_id: Callable[[], str] = _draw_id) -> BlobStore:
    """Return the store of blobs in the ledger's database; a simulation draws the ids of writes itself."""
    if isinstance(database, MemoryDatabase):
        return _MemoryBlobs(state, database, draw_id)
    if isinstance(database, SqlDatabase):
        return _SqlBlobs(state, database, draw_id)
    raise ConfigurationError(f"state {state!r}: a ledger in {type(database).__name__} can't keep staged updates")


class _SqlBlobs:
    def __init__(self, state: str, database: SqlDatabase, draw_id: Callable[[], str]) -> None:
        self._state = state
        self._database = database
        self._draw_id = draw_id

    def prepare(self) -> None:
        with self._database.transaction() as transaction:
            BLOB_TABLES.migrate(transaction.connection, self._database.schema_terms)

    def put(self, batch: BatchId, rows: pa.Table) -> WriteManifest:
        write_id = self._draw_id()
        values = {
            "topology": batch.owner.topology,
            "state": self._state,
            "txid": batch.txid,
            "attempt": batch.attempt,
            "write_id": write_id,
            "payload": pack(rows),
        }
        with self._database.transaction() as transaction:
            transaction.work_for(batch.owner.topology, batch.epoch)
            transaction.connection.execute(insert(_BLOBS), values)
        return WriteManifest(self._state, write_id, digest_of(write_id, rows.num_rows))

    def get(self, batch: BatchId, write: WriteManifest) -> pa.Table:
        found = select(_BLOBS.c.payload).where(
            _BLOBS.c.write_id == write.write_id,
            _BLOBS.c.topology == batch.owner.topology,
            _BLOBS.c.state == self._state,
            _BLOBS.c.txid == batch.txid,
            _BLOBS.c.attempt == batch.attempt,
        )
        with self._database.transaction() as transaction:
            payload = transaction.connection.execute(found).scalar_one_or_none()
        return _checked(batch, write, None if payload is None else unpack(payload))

    def lying(self, topology: str) -> Mapping[str, int]:
        mine = (_BLOBS.c.topology == topology, _BLOBS.c.state == self._state)
        with self._database.transaction() as transaction:
            transaction.work_on(topology)
            found = transaction.connection.execute(select(_BLOBS.c.write_id, _BLOBS.c.txid).where(*mine)).all()
        return {row.write_id: row.txid for row in found}

    def delete(self, topology: str, write_ids: Collection[str]) -> None:
        if not write_ids:
            return
        gone = delete(_BLOBS).where(_BLOBS.c.write_id == bindparam("gone"))
        with self._database.transaction() as transaction:
            transaction.work_on(topology)
            transaction.connection.execute(gone, [{"gone": write_id} for write_id in sorted(write_ids)])


class _MemoryBlobs:
    def __init__(self, state: str, database: MemoryDatabase, draw_id: Callable[[], str]) -> None:
        self._table = f"state {state} blobs"
        self._state = state
        self._database = database
        self._draw_id = draw_id

    def prepare(self) -> None:
        """Nothing to make."""

    def put(self, batch: BatchId, rows: pa.Table) -> WriteManifest:
        write_id = self._draw_id()
        with self._database.transaction() as transaction:
            transaction.table(self._table)[write_id] = (batch.owner.topology, batch.txid, batch.attempt, rows)
        return WriteManifest(self._state, write_id, digest_of(write_id, rows.num_rows))

    def get(self, batch: BatchId, write: WriteManifest) -> pa.Table:
        with self._database.transaction() as transaction:
            found = transaction.table(self._table).get(write.write_id)
        key = (batch.owner.topology, batch.txid, batch.attempt)
        return _checked(batch, write, found[3] if isinstance(found, tuple) and found[:3] == key else None)

    def lying(self, topology: str) -> Mapping[str, int]:
        with self._database.transaction() as transaction:
            found = list(transaction.table(self._table).items())
        return {
            str(write_id): int(blob[1]) for write_id, blob in found if isinstance(blob, tuple) and blob[0] == topology
        }

    def delete(self, topology: str, write_ids: Collection[str]) -> None:
        with self._database.transaction() as transaction:
            table = transaction.table(self._table)
            for write_id in write_ids:
                table.pop(write_id, None)


def _checked(batch: BatchId, write: WriteManifest, rows: pa.Table | None) -> pa.Table:
    if rows is None or digest_of(write.write_id, rows.num_rows) != write.digest:
        found = "nothing" if rows is None else f"{rows.num_rows} rows"
        raise MismatchError(
            f"{batch}: {found} is staged for write {write.write_id}, {write.rows} rows were accepted; "
            "nothing was applied, the stored state is unchanged"
        )
    return rows
