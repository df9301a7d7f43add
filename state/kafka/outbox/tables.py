"""Records that wait in the ledger's database until they are sent: put there by the transaction that pins their batch.

Two tables. A sink's position moves with the pin, as a state's does; its entries are the batches with records that have
not been sent yet. Each entry names the one before it, so that what is sent follows on what was sent, without a gap.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    LargeBinary,
    MetaData,
    Table,
    Text,
    func,
    inspect,
    select,
)

from trident.base.identity import Epoch, Owner
from trident.state.databases.versions import NumberedTables, step_to_missing
from trident.state.kafka.outbox.store import OutboxRow
from trident.state.positions import Position

_META = MetaData()
POSITIONS: Final = Table(
    "trident_outbox_position",
    _META,
    Column("topology", Text, primary_key=True),
    Column("sink", Text, primary_key=True),
    Column("incarnation", Text, nullable=False),
    Column("epoch", BigInteger, nullable=False),
    Column("token", Text, nullable=False),
    Column("txid", BigInteger, nullable=False),
    Column("attempt", BigInteger, nullable=False),
    Column("birth_txid", BigInteger, nullable=False),
    Column("newest_txid", BigInteger, nullable=False),
)
ENTRIES: Final = Table(
    "trident_outbox",
    _META,
    Column("topology", Text, primary_key=True),
    Column("sink", Text, primary_key=True),
    Column("txid", BigInteger, primary_key=True),
    Column("attempt", BigInteger, nullable=False),
    Column("before_txid", BigInteger, nullable=False),
    Column("record_count", BigInteger, nullable=False),
    Column("payload", LargeBinary, nullable=False),
)
LET_GO: Final = ""
"""The incarnation of a sink that stands nowhere any more: its row has the epoch that let go of it."""
_VERSION_1 = {
    "trident_outbox_position": """
        CREATE TABLE trident_outbox_position (
            topology TEXT NOT NULL, sink TEXT NOT NULL, incarnation TEXT NOT NULL, epoch BIGINT NOT NULL,
            token TEXT NOT NULL, txid BIGINT NOT NULL, attempt BIGINT NOT NULL, birth_txid BIGINT NOT NULL,
            newest_txid BIGINT NOT NULL, PRIMARY KEY (topology, sink))""",
    "trident_outbox": """
        CREATE TABLE trident_outbox (
            topology TEXT NOT NULL, sink TEXT NOT NULL, txid BIGINT NOT NULL, attempt BIGINT NOT NULL,
            before_txid BIGINT NOT NULL, record_count BIGINT NOT NULL, payload {bytes} NOT NULL,
            PRIMARY KEY (topology, sink, txid))""",
}
OUTBOX_TABLES: Final = NumberedTables(
    "the tables of records that wait to be sent (trident_outbox, trident_outbox_position)",
    "trident_outbox_schema",
    (step_to_missing(_VERSION_1),),
)


@dataclass(frozen=True, slots=True)
class Waiting:
    """What waits in one sink's outbox."""

    sink: str
    txids: int
    """How many txids with records; not those that are none of its."""
    records: int
    oldest_txid: int


def standing_in(connection: Connection, topology: str, sink: str) -> tuple[OutboxRow, int] | None:
    """Return where a sink stands and the newest txid that was sent, as its outbox says; reads only, locks nothing."""
    row = row_in(connection, topology, sink, locked=False)
    return None if row is None else (row, sent_before_in(connection, topology, sink, row))


def waiting_in(connection: Connection, topology: str) -> tuple[Waiting, ...]:
    """Return what waits in each sink of a topology; nothing where no outbox was ever made. Reads only."""
    if not inspect(connection).has_table(ENTRIES.name):
        return ()
    counted = (
        select(ENTRIES.c.sink, func.count(), func.sum(ENTRIES.c.record_count), func.min(ENTRIES.c.txid))
        .where(ENTRIES.c.topology == topology, ENTRIES.c.record_count > 0)
        .group_by(ENTRIES.c.sink)
        .order_by(ENTRIES.c.sink)
    )
    return tuple(Waiting(row[0], row[1], int(row[2]), row[3]) for row in connection.execute(counted))


def row_in(connection: Connection, topology: str, sink: str, *, locked: bool) -> OutboxRow | None:
    """Return where a sink stands; locked, a writer at work is waited for."""
    asked = select(POSITIONS).where(POSITIONS.c.topology == topology, POSITIONS.c.sink == sink)
    row = connection.execute(asked.with_for_update() if locked else asked).mappings().one_or_none()
    if row is None or row["incarnation"] == LET_GO:
        return None
    position = Position(Owner(topology, row["incarnation"]), row["txid"], row["attempt"], row["birth_txid"])
    return OutboxRow(position, Epoch(row["epoch"], row["token"]), row["newest_txid"])


def sent_before_in(connection: Connection, topology: str, sink: str, row: OutboxRow) -> int:
    """Return the newest txid with records before those that wait."""
    mine = (ENTRIES.c.topology == topology, ENTRIES.c.sink == sink)
    oldest = select(ENTRIES.c.before_txid).where(*mine).order_by(ENTRIES.c.txid).limit(1)
    found: int | None = connection.execute(oldest).scalar()
    return row.newest_txid if found is None else found
