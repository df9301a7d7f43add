"""What a SQL ledger says to people and their tools; reading never migrates and never writes."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, Row, Table, func, inspect, select

from trident.base.errors import MismatchError
from trident.base.identity import Owner
from trident.coordinators.decided import Refusal
from trident.coordinators.ledger.rules.progress import PlanStatus
from trident.coordinators.ledger.sql import codec
from trident.coordinators.ledger.sql.decision_reads import read_decisions, read_refusal
from trident.coordinators.ledger.sql.dialect import SecondsSince
from trident.coordinators.ledger.sql.reads import read_open_reset, read_progress
from trident.coordinators.ledger.sql.tables import (
    COMMIT,
    DEAD_LETTER,
    DECISION,
    DIVERTED,
    FENCE,
    HEARTBEAT,
    LOSS,
    PIN,
    PLAN,
    REFUSAL,
    SCHEMA,
    TOPOLOGY,
)
from trident.coordinators.ledger.versions.migrations import MIGRATIONS, version_of

Record = dict[str, object]
"""One row of the ledger, by column, as it can be written as JSON."""


@dataclass(frozen=True, slots=True)
class TopologyStatus:
    """Where a topology stands, who holds it, and what waits for a person."""

    name: str
    incarnation: str
    done: int
    pinned: int | None
    live: int
    """How many attempts are planned and not done."""
    last_txid: int
    last_attempt: int
    epoch: int
    holder: str
    is_held: bool
    """Whether a coordinator's heartbeat is fresh."""
    done_at: datetime | None
    refusal: Refusal | None
    decisions: tuple[str, ...]
    """What was decided and is not finished."""
    open_reset: str | None
    losses: int
    dead_letters: int
    diverted_rows: int

    @property
    def needs_decision(self) -> bool:
        """Whether nothing runs until a person has decided."""
        return self.refusal is not None and self.refusal.blocks


def check_readable(connection: Connection, where: str) -> None:
    """Raise MismatchError unless the tables are of this library's version: reading never changes them."""
    found = version_of(connection) if inspect(connection).has_table(SCHEMA.name) else 0
    if found == len(MIGRATIONS):
        return
    if found == 0:
        raise MismatchError(f"there is no ledger at {where}. Nothing was changed; check the address.")
    advice = (
        "start a topology with this version, which brings the tables up to date, and read then"
        if found < len(MIGRATIONS)
        else "use the newer library"
    )
    raise MismatchError(
        f"the ledger's tables at {where} are of version {found}, this library reads version {len(MIGRATIONS)}. Nothing "
        f"was changed: {advice}."
    )


def read_names(connection: Connection) -> tuple[str, ...]:
    """Return the names of all topologies."""
    return tuple(connection.execute(select(TOPOLOGY.c.name).order_by(TOPOLOGY.c.name)).scalars())


def read_status(connection: Connection, topology: str) -> TopologyStatus:
    """Return where a topology stands; raises MismatchError for one that is not in the ledger."""
    progress = read_progress(connection, topology)
    if progress is None:
        known = ", ".join(map(repr, read_names(connection))) or "none"
        raise MismatchError(f"topology {topology!r} is not in this ledger; there are: {known}.")
    owner = Owner(topology, progress.incarnation)
    left = HEARTBEAT.c.lease_seconds - SecondsSince(HEARTBEAT.c.beat_at)
    held = connection.execute(
        select(FENCE.c.number, FENCE.c.holder, HEARTBEAT.c.released, left.label("seconds_left"))
        .join_from(FENCE, HEARTBEAT, HEARTBEAT.c.topology == FENCE.c.topology)
        .where(FENCE.c.topology == topology)
    ).one()
    done_at = select(COMMIT.c.done_at).where(COMMIT.c.topology == topology, COMMIT.c.txid == progress.done)
    reset = read_open_reset(connection, topology)
    return TopologyStatus(
        name=topology,
        incarnation=progress.incarnation,
        done=progress.done,
        pinned=progress.pinned,
        live=_count(connection, PLAN, topology, PlanStatus.LIVE),
        last_txid=progress.last_txid,
        last_attempt=progress.last_attempt,
        epoch=held.number,
        holder=held.holder,
        is_held=not held.released and held.seconds_left > 0,
        done_at=connection.execute(done_at).scalars().first(),
        refusal=read_refusal(connection, owner, progress.done),
        decisions=tuple(str(decision) for decision in read_decisions(connection, owner, progress.done)),
        open_reset=f"states={reset.states!r}, to incarnation {reset.incarnation}" if reset else None,
        losses=_count(connection, LOSS, topology, PlanStatus.DONE),
        dead_letters=_count(connection, DEAD_LETTER, topology),
        diverted_rows=_count(connection, DIVERTED, topology),
    )


def read_batches(connection: Connection, topology: str, limit: int) -> list[Record]:
    """Return the last txids that are done, newest first."""
    rows = connection.execute(
        select(COMMIT).where(COMMIT.c.topology == topology).order_by(COMMIT.c.txid.desc()).limit(limit)
    )
    return [_record(row) for row in rows]


def read_txid(connection: Connection, topology: str, txid: int) -> dict[str, list[Record]]:
    """Return all that the ledger keeps of one txid, by kind; an empty list where there is nothing.

    Dead letters come without their key and value, which are data of the source.
    """
    tables = {
        "attempts": PLAN,
        "pin": PIN,
        "commit": COMMIT,
        "losses": LOSS,
        "dead_letters": DEAD_LETTER,
        "refusals": REFUSAL,
        "decisions": DECISION,
        "diverted": DIVERTED,
    }
    return {
        kind: [
            _record(row)
            for row in connection.execute(
                select(table).where(table.c.topology == topology, table.c.txid == txid).order_by(*table.primary_key)
            )
        ]
        for kind, table in tables.items()
    }


_HIDDEN = ("record_key", "record_value")
_JSON = ("ranges", "losses", "plan", "manifests", "states", "staged_row")


def _record(row: Row[tuple[object, ...]]) -> Record:
    found: Record = {}
    for name, value in row._mapping.items():
        if name in _HIDDEN:
            continue
        if isinstance(value, datetime):
            found[name] = value.isoformat()
        else:
            found[name] = codec.parsed(value) if name in _JSON and isinstance(value, str) else value
    return found


def _count(connection: Connection, table: Table, topology: str, status: PlanStatus | None = None) -> int:
    conditions = [table.c.topology == topology]
    if status is not None:
        conditions.append(table.c.status == status.value)
    count: int = connection.execute(select(func.count()).select_from(table).where(*conditions)).scalar_one()
    return count
