"""The two small tables that every SQL store keeps: where each state stands, and each topology's fence."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, text

from trident.base.advice import RESET_LOST
from trident.base.errors import FencedError, MismatchError
from trident.base.identity import BatchId, Epoch, Owner
from trident.state.positions import Position
from trident.state.tables.dialect import Dialect

_MOVE = text("""
    UPDATE trident_applied SET txid = :txid, attempt = :attempt, epoch = :epoch, token = :token
    WHERE topology = :topology AND state = :state AND incarnation = :incarnation AND txid = :txid - 1""")
_MOVE_BACK = text("""
    UPDATE trident_applied SET txid = :txid - 1, attempt = :before, epoch = :epoch, token = :token
    WHERE topology = :topology AND state = :state AND attempt = :attempt AND incarnation = :incarnation
          AND txid = :txid""")
_INSERT = text("""
    INSERT INTO trident_applied
        (topology, state, table_name, incarnation, epoch, token, txid, attempt, birth_txid, is_sink)
    VALUES (:topology, :state, :table_name, :incarnation, :epoch, :token, :birth, 0, :birth, :is_sink)""")
_REBIRTH = text("""
    UPDATE trident_applied
    SET incarnation = :incarnation, epoch = :epoch, token = :token, txid = :birth, attempt = 0, birth_txid = :birth
    WHERE topology = :topology AND state = :state""")
_COUNT = text("""
    UPDATE trident_applied SET row_count = row_count + :change WHERE topology = :topology AND state = :state""")
_ROW_COUNT = text("SELECT row_count FROM trident_applied WHERE topology = :topology AND state = :state")
_COUNTED = text("""
    UPDATE trident_applied SET row_count = :row_count, relation = :relation
    WHERE topology = :topology AND state = :state""")
_STAMP = text("""
    UPDATE trident_applied SET epoch = :epoch, token = :token
    WHERE topology = :topology AND state = :state AND epoch < :epoch""")
_RAISE = text("""
    INSERT INTO trident_state_fence (topology, epoch, token) VALUES (:topology, :epoch, :token)
    ON CONFLICT (topology) DO UPDATE SET epoch = excluded.epoch, token = excluded.token
    WHERE trident_state_fence.epoch < excluded.epoch
       OR (trident_state_fence.epoch = excluded.epoch AND trident_state_fence.token = excluded.token)""")

_RESTORED = (
    ". But where that is another name of this very state, and its ledger was restored to a point before it was "
    f"renamed, restore both to the same point; if the ledger is lost for good, stop what runs with it and {RESET_LOST}"
)

_DELETE = text("DELETE FROM trident_applied WHERE topology = :topology AND state = :state")

_FENCE_OF = "SELECT epoch FROM trident_state_fence WHERE topology = :topology"
_EPOCH_OF = "SELECT epoch, token FROM trident_state_fence WHERE topology = :topology"


@dataclass(frozen=True, slots=True)
class AppliedRow:
    """What is recorded of one state: its position, and the epoch that last wrote it."""

    position: Position
    epoch: Epoch
    row_count: int | None
    """How many rows the table holds as of the position; unknown until it was counted after an older version."""
    relation: str | None
    """What the database called the table's storage when they were compared last."""


@dataclass(frozen=True, slots=True)
class Applied:
    """The row of one state in `trident_applied`; every method runs inside the caller's transaction."""

    dialect: Dialect
    state: str
    table: str
    is_sink: bool = False
    """Whether what is there are rows that stay, and not values."""

    def move(self, connection: Connection, batch: BatchId) -> bool:
        """Step from txid - 1 to the batch's txid; False when the row does not stand at txid - 1."""
        values = {"txid": batch.txid, "attempt": batch.attempt, **self._named(batch.owner, batch.epoch)}
        return connection.execute(_MOVE, values).rowcount == 1

    def move_back(self, connection: Connection, batch: BatchId, before: int) -> bool:
        """Step from the batch's txid and attempt to txid - 1; False when the row does not stand there."""
        values = {"txid": batch.txid, "attempt": batch.attempt, "before": before}
        return connection.execute(_MOVE_BACK, {**values, **self._named(batch.owner, batch.epoch)}).rowcount == 1

    def read(self, connection: Connection, topology: str, *, locked: bool = True) -> AppliedRow | None:
        """Return the row, locked unless told otherwise: a writer at work is waited for.

        Refuses a table of another state.
        """
        row = self.own(connection, topology, locked=locked)
        self._check_table(connection, topology)
        return row

    def own(self, connection: Connection, topology: str, *, locked: bool = True) -> AppliedRow | None:
        """Return the row, whoever else may have the table by now."""
        lock = self.dialect.for_update if locked else ""
        statement = (
            "SELECT incarnation, txid, attempt, birth_txid, epoch, token, row_count, relation FROM trident_applied "
            f"WHERE topology = :topology AND state = :state{lock}"
        )
        row = connection.execute(text(statement), {"topology": topology, "state": self.state}).one_or_none()
        if row is None:
            return None
        incarnation, txid, attempt, birth, epoch, token, row_count, relation = row
        position = Position(Owner(topology, incarnation), txid, attempt, birth)
        return AppliedRow(position, Epoch(epoch, token), row_count, relation)

    def insert(self, connection: Connection, owner: Owner, epoch: Epoch, birth_txid: int) -> None:
        """Record a state that has never been registered, or was let go of under an older epoch than this one."""
        _refuse_older(connection, owner.topology, epoch)
        values = {"table_name": self.table, "birth": birth_txid, "is_sink": self.is_sink}
        connection.execute(_INSERT, {**values, **self._named(owner, epoch)})

    def delete(self, connection: Connection, topology: str) -> None:
        """Take the row away."""
        connection.execute(_DELETE, {"topology": topology, "state": self.state})

    def rebirth(self, connection: Connection, owner: Owner, epoch: Epoch, birth_txid: int) -> None:
        """Bind the state to a new owner at its birth txid."""
        connection.execute(_REBIRTH, {"birth": birth_txid, **self._named(owner, epoch)})

    def row_count(self, connection: Connection, topology: str) -> int | None:
        """Return how many rows the table holds as of the position, None if that is unknown."""
        found: int | None = connection.execute(_ROW_COUNT, {"topology": topology, "state": self.state}).scalar()
        return found

    def count(self, connection: Connection, topology: str, change: int) -> None:
        """Keep account of rows that were made, or taken away; in the transaction that did it."""
        if change:
            connection.execute(_COUNT, {"topology": topology, "state": self.state, "change": change})

    def counted(self, connection: Connection, topology: str, row_count: int | None, relation: str | None) -> None:
        """Record how many rows were counted, if they were, and in which storage."""
        values = {"topology": topology, "state": self.state, "row_count": row_count, "relation": relation}
        connection.execute(_COUNTED, values)

    def stamp(self, connection: Connection, owner: Owner, epoch: Epoch) -> None:
        """Put a newer epoch beside the position, which stays; no row, or one of this epoch, is left as it is."""
        values = self._named(owner, epoch)
        connection.execute(_STAMP, {name: values[name] for name in ("topology", "state", "epoch", "token")})

    def _named(self, owner: Owner, epoch: Epoch) -> dict[str, str | int]:
        return {
            "topology": owner.topology,
            "state": self.state,
            "incarnation": owner.incarnation,
            "epoch": epoch.number,
            "token": epoch.token,
        }

    def _check_table(self, connection: Connection, topology: str) -> None:
        for other, state in self.holders(connection):
            if (other, state) != (topology, self.state):
                raise MismatchError(
                    f"table {self.table!r} belongs to state {state!r} of topology {other!r}, not to state "
                    f"{self.state!r} of topology {topology!r}; nothing was changed: use another table{self.or_restored}"
                )

    @property
    def or_restored(self) -> str:
        """What else is said of a table that has another holder: a sink has no other name."""
        return "" if self.is_sink else _RESTORED

    def holders(self, connection: Connection) -> list[tuple[str, str]]:
        """Return every (topology, state) that has this table, by whatever name it knows it."""
        statement = f"SELECT topology, state FROM trident_applied WHERE {self.dialect.same_table}"
        return [(row[0], row[1]) for row in connection.execute(text(statement), {"table": self.table})]

    def others(self, connection: Connection) -> list[tuple[str, str, str]]:
        """Return (topology, state, table) of every state with another table, by whatever name it knows it."""
        statement = (
            f"SELECT topology, state, table_name FROM trident_applied WHERE ({self.dialect.same_table}) IS NOT TRUE"
        )
        return [(row[0], row[1], row[2]) for row in connection.execute(text(statement), {"table": self.table})]


def raise_fence(connection: Connection, topology: str, epoch: Epoch) -> None:
    """Raise the topology's fence to this epoch; raises FencedError when it stands higher or at another token."""
    values = {"topology": topology, "epoch": epoch.number, "token": epoch.token}
    if connection.execute(_RAISE, values).rowcount != 1:
        stored = connection.execute(text(_FENCE_OF), {"topology": topology}).scalar_one()
        raise FencedError(
            f"epoch {stored} holds {topology!r}, this is epoch {epoch.number}; nothing was written", stored
        )


def check_fence(connection: Connection, dialect: Dialect, topology: str, epoch: Epoch) -> None:
    """Hold the fence for the rest of the transaction; raises FencedError unless it stands at this very epoch."""
    statement = f"SELECT epoch, token FROM trident_state_fence WHERE topology = :topology{dialect.for_share}"
    row = connection.execute(text(statement), {"topology": topology}).one_or_none()
    if row is not None and (row[0], row[1]) == (epoch.number, epoch.token):
        return
    if row is not None and row[0] >= epoch.number:
        raise FencedError(f"epoch {row[0]} holds {topology!r}, this is epoch {epoch.number}; nothing was written")
    found = "no fence" if row is None else f"the fence of epoch {row[0]}"
    raise MismatchError(
        f"found {found} of {topology!r} where epoch {epoch.number} was raised: "
        "the state's database was replaced or restored; nothing was written, start the topology again"
    )


def require_line(connection: Connection, dialect: Dialect, topology: str, epoch: Epoch) -> None:
    """Raise MismatchError unless an epoch of this line has raised the fence here before: it is the same database."""
    found = None
    if dialect.find_columns(connection, "trident_state_fence") is not None:
        found = _stored_fence(connection, topology)
    if found is None or found.line != epoch.line:
        raise MismatchError(
            f"found no fence of {topology!r} that its ledger has raised: the state's database was replaced, or its "
            "address is another one. Nothing was changed there: correct the address, and give the command again; where "
            "it is lost for good, finish without it (--lost-state NAME)"
        )


def require_no_other_line(connection: Connection, topology: str, epoch: Epoch) -> None:
    """Raise MismatchError where an epoch of another line has raised the fence: another ledger's topology stands on it.

    Asked beside the ledger, where nobody needs a fence of the ledger's own line before somebody lets go.
    """
    found = _stored_fence(connection, topology)
    if found is not None and found.line != epoch.line:
        raise MismatchError(
            f"the fence of {topology!r} in this database (trident_state_fence, epoch {found.number}) is that of a "
            "topology of the same name in another ledger, which would never start again without it; or of a ledger of "
            "this one that was lost. Nothing was changed: where that topology runs, let go of this one only when that "
            "one is let go of in its own ledger. Once no coordinator of it is left, delete that row by hand, and give "
            "the command again"
        )


def _refuse_older(connection: Connection, topology: str, epoch: Epoch) -> None:
    """Raise FencedError where a later epoch of this line has raised the fence, beside the ledger too.

    There a fence is only left by who has let go of the topology: its old owner may stand still on its way to here.
    """
    found = _stored_fence(connection, topology)
    if found is not None and found.line == epoch.line and found.number > epoch.number:
        raise FencedError(
            f"epoch {found.number} has let go of {topology!r}, this is epoch {epoch.number}; nothing was written",
            found.number,
        )


def _stored_fence(connection: Connection, topology: str) -> Epoch | None:
    row = connection.execute(text(_EPOCH_OF), {"topology": topology}).one_or_none()
    return None if row is None else Epoch(row[0], row[1])
