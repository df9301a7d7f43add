"""The ledger's tables; every txid, attempt and offset is a bigint.

What each holds is told by the values of `coordinators` (`planned`, `pinned`, `decided`, `registered`). The
statements that make them are in `versions`; a test holds the two together. Names
start with `trident_`, so that the ledger can live in a database beside the tables of its states.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ColumnElement,
    Double,
    Index,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    literal_column,
    text,
)

from trident.coordinators.ledger.sql.moments import Moment

METADATA = MetaData()


def _key(name: str) -> Column[str]:
    return Column(name, String, primary_key=True)


def _number_key(name: str) -> Column[int]:
    return Column(name, BigInteger, primary_key=True, autoincrement=False)


def _number(name: str) -> Column[int]:
    return Column(name, BigInteger, nullable=False)


def _text(name: str) -> Column[str]:
    return Column(name, Text, nullable=False)


SCHEMA = Table("trident_schema", METADATA, _number_key("version"), Column("applied_at", Moment, nullable=False))

TOPOLOGY = Table(
    "trident_topology",
    METADATA,
    _key("name"),
    _text("incarnation"),
    _text("spec"),
    Column("created_at", Moment, nullable=False),
    Column("activity", Text, nullable=False, server_default=text("'active'")),
)

# Changed at take-over only; the session columns are hints that make a dead holder's lease end at once.
FENCE = Table(
    "trident_fence",
    METADATA,
    _key("topology"),
    _number("number"),
    _text("token"),
    _text("holder"),
    Column("session_pid", BigInteger),
    Column("session_host", Text),
    Column("session_started", Double),
    Column("raised_at", Moment, nullable=False),
)

HEARTBEAT = Table(
    "trident_heartbeat",
    METADATA,
    _key("topology"),
    _number("epoch"),
    Column("beat_at", Moment, nullable=False),
    Column("lease_seconds", Double, nullable=False),
    Column("released", Boolean, nullable=False),
    Column("latencies", Text),
)

INCARNATION = Table(
    "trident_incarnation",
    METADATA,
    _key("topology"),
    _key("id"),
    _number("birth_txid"),
    Column("created_at", Moment, nullable=False),
    _text("reason"),
    Column("starts", Text),
    _text("status"),
    Column("births", Text),
)

# The one row that plan, drop, pin, done and each decision lock; it also holds the highest numbers ever handed out.
PROGRESS = Table(
    "trident_progress",
    METADATA,
    _key("topology"),
    _text("incarnation"),
    _number("done"),
    _number("done_attempt"),
    Column("pinned", BigInteger),
    Column("pinned_attempt", BigInteger),
    _number("last_txid"),
    _number("last_attempt"),
    Column("reset_to", Text),
    Column("undoing", BigInteger),
    Column("held", BigInteger, nullable=False, server_default=text("0")),
)

PLAN = Table(
    "trident_plan",
    METADATA,
    _key("topology"),
    _number_key("attempt"),
    _text("incarnation"),
    _number("txid"),
    _number("tries"),
    _number("epoch"),
    _number("predecessor"),
    _text("status"),
    Column("batch_time", Moment, nullable=False),
    Column("created_at", Moment, nullable=False),
    _text("ranges"),
    _text("losses"),
    Column("timers", Text, nullable=False, server_default=text("'[]'")),
    Column("received", Text, nullable=False, server_default=text("'[]'")),
    Column("diverts", Text, nullable=False, server_default=text("'[]'")),
)
_LIVE = text("status = 'live'")
IS_LIVE: ColumnElement[str] = literal_column("'live'", Text)
"""Compared with, not a parameter: else a prepared statement could not use the index of live plans."""

Index("trident_plan_live", PLAN.c.topology, PLAN.c.txid, unique=True, postgresql_where=_LIVE, sqlite_where=_LIVE)
# With both of what is asked for: by the topology alone SQLite, which has no statistics, may take the index of history.
Index(
    "trident_plan_open",
    PLAN.c.topology,
    PLAN.c.incarnation,
    PLAN.c.txid,
    postgresql_where=_LIVE,
    sqlite_where=_LIVE,
)
Index("trident_plan_txid", PLAN.c.topology, PLAN.c.txid, PLAN.c.attempt)

# The plan of the last done txid with every partition ever seen: the rows of plans only have what they change.
DONE_PLAN = Table(
    "trident_done_plan",
    METADATA,
    _key("topology"),
    _text("incarnation"),
    _number("txid"),
    _number("attempt"),
    _text("ranges"),
)

PIN = Table(
    "trident_pin",
    METADATA,
    _key("topology"),
    _key("incarnation"),
    _number_key("txid"),
    _number("attempt"),
    _number("epoch"),
    _text("plan"),
    _text("manifests"),
    _text("states"),
    Column("pinned_at", Moment, nullable=False),
)
Index("trident_pin_txid", PIN.c.topology, PIN.c.txid)

COMMIT = Table(
    "trident_commit",
    METADATA,
    _key("topology"),
    _key("incarnation"),
    _number_key("txid"),
    _number("attempt"),
    _number("tries"),
    _number("epoch"),
    _number("records"),
    _number("dead_letters"),
    _number("keys"),
    _number("plan_ms"),
    _number("process_ms"),
    _number("commit_ms"),
    Column("done_at", Moment, nullable=False),
)
Index("trident_commit_txid", COMMIT.c.topology, COMMIT.c.txid)

# A loss counts when its attempt does: its status follows that of the plan, and outlives it.
LOSS = Table(
    "trident_loss",
    METADATA,
    _key("topology"),
    _number_key("attempt"),
    _key("spout"),
    _key("topic"),
    _number_key("partition"),
    _number_key("start_offset"),
    _number("stop_offset"),
    _text("incarnation"),
    _number("txid"),
    _text("status"),
    _text("reason"),
    Column("recorded_at", Moment, nullable=False),
)

DEAD_LETTER = Table(
    "trident_dead_letter",
    METADATA,
    _key("topology"),
    _key("incarnation"),
    _number_key("txid"),
    _key("spout"),
    _key("topic"),
    _number_key("partition"),
    _number_key("record_offset"),
    _number("attempt"),
    Column("record_timestamp", BigInteger),
    _text("reason"),
    Column("record_key", LargeBinary),
    Column("record_value", LargeBinary),
    Column("pinned_at", Moment, nullable=False),
)

RESET = Table(
    "trident_reset",
    METADATA,
    _key("topology"),
    _key("incarnation"),
    _number("birth_txid"),
    _text("states"),
    Column("start", Text),
    _number("epoch"),
    Column("decided_at", Moment, nullable=False),
    Column("finished_at", Moment),
    Column("streams", Text),
    Column("begins", Text),
    Column("stood", Text),
    Column("foreign_incarnations", Text),
)

# Why a coordinator stopped at a txid; an epoch stops once.
REFUSAL = Table(
    "trident_refusal",
    METADATA,
    _key("topology"),
    _number_key("epoch"),
    _text("incarnation"),
    _number("txid"),
    _number("attempt"),
    _text("kind"),
    _text("state"),
    _text("reason"),
    Column("refused_at", Moment, nullable=False),
    Column("settled_by", Text),
    Column("settled_at", Moment),
)

# What a person decided about a txid; each decision is a take-over with an epoch of its own.
DECISION = Table(
    "trident_decision",
    METADATA,
    _key("topology"),
    _number_key("epoch"),
    _text("incarnation"),
    _number("txid"),
    _number("attempt"),
    _text("kind"),
    _text("state"),
    _text("decided_by"),
    Column("decided_at", Moment, nullable=False),
    Column("finished_at", Moment),
    Column("void", Boolean, nullable=False, server_default=text("FALSE")),
)

# Staged rows that a person took out of a batch: the dead letters of a state.
DIVERTED = Table(
    "trident_diverted",
    METADATA,
    _key("topology"),
    _key("incarnation"),
    _number_key("txid"),
    _key("state"),
    _number_key("number"),
    _number("attempt"),
    _text("staged_row"),
    Column("diverted_at", Moment, nullable=False),
)

# What a person has asked of whoever holds the topology; anybody may add a row, only the fenced owner answers it.
COMMAND = Table(
    "trident_command",
    METADATA,
    _key("topology"),
    _number_key("number"),
    _text("id"),
    _text("incarnation"),
    _text("kind"),
    _text("arguments"),
    _text("given_by"),
    Column("given_at", Moment, nullable=False),
    Column("within_seconds", Double, nullable=False),
    Column("epoch", BigInteger),
    Column("verdict", Text),
    Column("answer", Text),
    Column("answered_at", Moment),
)

# Errors as people read them: equal ones are one row.
ERROR = Table(
    "trident_error",
    METADATA,
    _key("topology"),
    _key("incarnation"),
    _key("id"),
    _text("place"),
    _text("kind"),
    _text("text"),
    _number("count"),
    Column("txid", BigInteger),
    Column("attempt", BigInteger),
    _number("epoch"),
    Column("first_at", Moment, nullable=False),
    Column("last_at", Moment, nullable=False),
)
_IS_OPEN = text("verdict IS NULL")
Index("trident_command_open", COMMAND.c.topology, COMMAND.c.number, postgresql_where=_IS_OPEN, sqlite_where=_IS_OPEN)
