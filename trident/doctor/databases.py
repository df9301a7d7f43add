"""Every database that a topology uses: does it answer, which version is it, and what is to be found there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from sqlalchemy import text

from trident.base.errors import ConfigurationError, FatalError
from trident.base.identity import Owner
from trident.coordinators.holding.plain_standing import check_plain, check_unknown, txids_ahead
from trident.coordinators.holding.standing import ApartError
from trident.coordinators.ledger.view import TopologyStatus
from trident.coordinators.registered import Snapshot
from trident.doctor.clients import reading
from trident.doctor.findings import Finding, ok, problem
from trident.doctor.subject import PlainInSql, Subject
from trident.state.databases.base import SqlDatabase
from trident.state.kafka.outbox.target import OutboxTarget
from trident.state.plainly import PlainFound
from trident.state.postgres.database import PostgresDatabase
from trident.state.postgres.dialect import OLDEST
from trident.state.postgres.writer import PostgresWriting
from trident.state.sqlite.database import SqliteDatabase
from trident.state.tables.sql_target import SqlTarget


@dataclass(frozen=True, slots=True)
class DatabaseAt:
    """A database, and what of the topology is in it."""

    place: str
    database: SqlDatabase
    tables: tuple[SqlTarget, ...]
    has_ledger: bool
    has_outbox: bool = False
    """Whether sinks lay down there what they send later."""
    has_blobs: bool = False
    """Whether what is in no SQL database is staged there."""

    @property
    def tasks(self) -> tuple[PostgresWriting, ...]:
        """What stages with a role of the tasks' own."""
        found = [table.capabilities.writing for table in self.tables]
        return tuple(each for each in found if isinstance(each, PostgresWriting) and each.tasks_dsn is not None)


def databases_of(subject: Subject) -> tuple[DatabaseAt, ...]:
    """Return the ledger's database, then those that states and sinks have of their own."""
    ledger = subject.ledger.database
    found = []
    if isinstance(ledger, SqlDatabase):
        beside = tuple(table for table in subject.tables if table.place.database is ledger)
        others = [target for target in subject.targets.values() if not isinstance(target, SqlTarget)]
        outboxes = [isinstance(target, OutboxTarget) for target in others]
        found.append(
            DatabaseAt(
                "the ledger's database",
                ledger,
                beside,
                has_ledger=True,
                has_outbox=any(outboxes),
                has_blobs=not all(outboxes),
            )
        )
    for table in subject.tables:
        if table.place.database is not ledger:
            found.append(
                DatabaseAt(f"the database of {table.name!r}", table.place.database, (table,), has_ledger=False)
            )
    return tuple(found)


def look_at_database(at: DatabaseAt) -> Iterator[Finding]:
    """Say whether it answers, and which version it is of."""
    if isinstance(at.database, SqliteDatabase) and not at.database.path.exists():
        # to connect would make it
        raise FatalError(f"there is no file {str(at.database.path)!r}; the first start makes it")
    with reading(at.database) as connection:
        if not isinstance(at.database, PostgresDatabase):
            yield ok(at.place, f"{at.database!r} answers, SQLite {connection.execute(text(_SQLITE)).scalar()}")
            return
        shown, number, is_standby = connection.execute(text(_POSTGRES)).one()
    yield ok(at.place, f"{at.database!r} answers, PostgreSQL {shown}")
    if number < OLDEST:
        yield problem(
            at.place,
            f"PostgreSQL {shown} is older than {OLDEST // 10_000}",
            "a start is refused, and changes nothing",
            "upgrade the server",
        )
    if is_standby:
        yield problem(
            at.place, "the server is a standby", "nothing can be written there", "name the primary in the address"
        )


def plain_databases_of(subject: Subject) -> tuple[tuple[DatabaseAt, PlainInSql], ...]:
    """Return every table that stands at no txid, with the database that it is in."""
    ledger = subject.ledger.database

    def at(target: PlainInSql) -> DatabaseAt:
        place = "the ledger's database" if target.database is ledger else f"the database of {target.name!r}"
        return DatabaseAt(place, target.database, (), has_ledger=target.database is ledger)

    return tuple((at(target), target) for target in subject.plain.values())


def look_at_plain(subject: Subject, target: PlainInSql) -> Iterator[Finding]:
    """Say whether the table can be written to as the topology is; what a start would make is made and rolled back."""
    about = f"the table of {target.name!r}"
    target.look(subject.topology)
    found = target.found(subject.topology)
    if found is None:
        yield ok(about, "it is there and fits, or the first start makes it")
        return
    try:
        _hold_against_ledger(subject, target.name, found)
    except ApartError as error:
        yield problem(about, error.found, "a start is refused, and changes nothing", error.ways)
        return
    yield ok(about, "the first start makes it" if found.is_missing else "it is there and fits")


def _hold_against_ledger(subject: Subject, name: str, found: PlainFound) -> None:
    """Raise ApartError for what a start would refuse."""
    view = subject.ledger.view()
    if subject.topology not in view.topologies():
        check_unknown(subject.topology, name, found)
        return
    standing = view.status(subject.topology)
    if standing.open_reset is None:  # else the next start finishes that first
        check_plain(_snapshot_of(standing), name, found, txids_ahead(standing.level))


def _snapshot_of(standing: TopologyStatus) -> Snapshot:
    """Return what a table is held against, as whoever holds the topology would have read it."""
    return Snapshot(
        Owner(standing.name, standing.incarnation),
        standing.birth_txid,
        standing.done,
        done_attempt=0,
        done_plan=None,
        pin=None,
        live=(),
        starts=None,
        last_txid=standing.last_txid,
        last_attempt=standing.last_attempt,
        births=standing.births,
    )


def look_at_tasks_login(writing: PostgresWriting) -> Iterator[Finding]:
    """Say whether tasks can log in with the role that they are given."""
    about = f"tasks_dsn of {writing.state!r}"
    assert writing.tasks_dsn is not None
    database = PostgresDatabase(writing.tasks_dsn, pool_size=1, whose=about)
    try:
        with reading(database) as connection:
            role = connection.execute(text("SELECT current_user::text")).scalar()
    except ConfigurationError as error:
        raise FatalError(str(error)) from error
    finally:
        database.close()
    yield ok(about, f"role {role!r} logs in")


_SQLITE: Final = "SELECT sqlite_version()"
_POSTGRES: Final = (
    "SELECT current_setting('server_version'), current_setting('server_version_num')::int, pg_is_in_recovery()"
)
