"""Where a case's ledger and ends live: only names and addresses, so that every life finds the same ones."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import psycopg
from kafka import KafkaAdminClient
from kafka.admin import NewTopic
from psycopg import sql

from integration_tests.crash_matrix.cases import Case
from integration_tests.crash_matrix.ends import End, RowsEnd, StateEnd, TopicEnd
from integration_tests.crash_matrix.maps import SqliteMap
from integration_tests.crash_matrix.sites import DECISIONS, ON_SQLITE, WITH_KAFKA, WITH_ROWS, Script, Site
from trident.coordinators.ledger import PostgresLedger, SqliteLedger
from trident.state import BackingMapState, KafkaSink, PostgresState, PostgresTable, SqliteState, SqliteTable

_MARKERS = {"cleanup.policy": "compact"}
_SMALL = {"max.message.bytes": "3000"}
"""What takes a batch, and not the record that is to be refused."""


@dataclass(frozen=True, slots=True)
class Addresses:
    """What the run offers: three databases of one server, a folder for files, a broker for those who need one."""

    databases: tuple[str, str, str]
    folder: str
    kafka: str = ""


@dataclass(frozen=True, slots=True)
class Place:
    """One case's ledger and ends; `key` tells it from the other cases in the same databases."""

    case: Case
    addresses: Addresses
    key: str

    @property
    def topology(self) -> str:
        """The topology's name, of this case only."""
        return f"topology_{self.key}"

    @property
    def lease(self) -> timedelta:
        """Long enough for connections of a loaded machine, which may be silent for half of it."""
        return timedelta(seconds=3 if self.case.site in WITH_KAFKA else 1)

    def ledger(self) -> SqliteLedger | PostgresLedger:
        """Return a new ledger object."""
        if self.case.site in ON_SQLITE:
            return SqliteLedger(self._file("ledger"), busy_seconds=2 * self.lease.total_seconds())
        return PostgresLedger(self.addresses.databases[0], pool_size=3)

    def ends(self) -> tuple[End, ...]:
        """Return the case's states and sinks."""
        name = f"balances_{self.key}"
        match self.case.site:
            case Site.SQLITE | Site.POSTGRES:
                return (self._state(name),)
            case Site.APART:
                return (self._state(name, 1),)
            case Site.TWO_DATABASES:
                return (self._state(f"{name}_first", 1), self._state(f"{name}_second", 2))
            case Site.BESIDE_AND_APART:
                return (self._state(f"{name}_beside"), self._state(f"{name}_apart", 1))
            case Site.PER_KEY:
                map_ = SqliteMap(self._file("map"))
                return (StateEnd(BackingMapState(name, map_, kind=self.case.state, chunk_rows=3), ""),)
            case Site.SQLITE_ROWS | Site.ROWS_BESIDE:
                return (self._state(name), self._rows("last", 0, keeps_last=True), self._rows("rows", 0))
            case Site.ROWS_APART:
                refuses, other = self._rows("last", 1, keeps_last=True), self._rows("rows", 1)
                # what the other one has written can't be taken back
                return (self._state(name), refuses, *(() if self.case.script is Script.UNDO else (other,)))
            case Site.KAFKA | Site.OUTBOX:
                return (self._state(name), self._topic("alerts"))
            case Site.TURN | Site.TURN_APART:
                return (
                    self._state(f"{name}_early"),
                    self._state(f"{name}_late", int(self.case.site is Site.TURN_APART)),
                )
            case Site.OUTBOX_APART:
                return (self._state(name, 1), self._topic("alerts"))

    def added(self) -> End:
        """Return the end that a newer version has: beside the ledger, or apart where one is beside it already."""
        if self.case.site in WITH_KAFKA:
            return self._topic("more")
        if self.case.site in WITH_ROWS:
            return self._rows("more", 0)
        return self._state(f"added_{self.key}", 2 if self.case.site is Site.BESIDE_AND_APART else 0)

    def refuser(self) -> str:
        """Return which end refuses, where one is to: a sink; the state where a topic can refuse only what is done."""
        first, *others = self.ends()
        has_outbox = self.case.site in (Site.OUTBOX, Site.OUTBOX_APART)
        if not others or (has_outbox and self.case.script is not Script.DIVERT_WAITING):
            return first.name
        return others[0].name

    def make_ready(self) -> None:
        """Make what is there before the first life: topics, and tables where one of them is to refuse something."""
        ends = (*self.ends(), *((self.added(),) if self.case.script is Script.ADDED else ()))
        decides = self.case.script in DECISIONS
        if decides:
            for end in ends:
                if isinstance(end, RowsEnd):
                    end.make()
        topics = [NewTopic(end.topic, 2, 1, topic_configs=_SMALL) for end in ends if isinstance(end, TopicEnd)]
        if topics and self.case.script is not Script.BIRTH:  # else its marker topic is made by who needs it
            topics.append(NewTopic(self._markers, 1, 1, topic_configs=_MARKERS))
        if topics:
            with closing(KafkaAdminClient(bootstrap_servers=self.addresses.kafka)) as admin:
                admin.create_topics(topics)

    def occupy(self) -> None:
        """Put a table of somebody else where the added state would live."""
        end = self.added()
        columns = "(account TEXT, wrong TEXT NOT NULL)"
        if isinstance(end, StateEnd) and isinstance(end.state, PostgresState):
            with psycopg.connect(end.database) as session:
                session.execute(sql.SQL("CREATE TABLE {} " + columns).format(sql.Identifier(end.name)))
            return
        with closing(sqlite3.connect(self._file("ledger"))) as file, file:
            file.execute(f"CREATE TABLE {end.name} {columns}")

    def ledger_rows(self, *queries: str) -> list[list[tuple[object, ...]]]:
        """Return what each query finds of this topology in the ledger; all in one snapshot, empty before its tables."""
        if self.case.site in ON_SQLITE:
            with closing(sqlite3.connect(self._file("ledger"), isolation_level=None)) as connection:
                connection.execute("BEGIN")
                if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'trident_pin'").fetchone():
                    return [[] for _ in queries]
                return [
                    connection.execute(f"{query} WHERE topology = ?", (self.topology,)).fetchall() for query in queries
                ]
        with psycopg.connect(self.addresses.databases[0]) as connection:
            connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
            if connection.execute("SELECT to_regclass('trident_pin')").fetchone() == (None,):
                return [[] for _ in queries]
            return [
                connection.execute(f"{query} WHERE topology = %s", (self.topology,)).fetchall() for query in queries
            ]

    def _state(self, name: str, database: int = 0) -> StateEnd:
        """Return a state beside the ledger, or in a database of its own."""
        kind, address = self.case.state, self.addresses.databases[database]
        if self.case.site in ON_SQLITE:
            return StateEnd(SqliteState(name, kind=kind), str(self._file("ledger")))
        return StateEnd(PostgresState(name, kind=kind, dsn=address if database else None), address)

    def _rows(self, name: str, database: int, *, keeps_last: bool = False) -> RowsEnd:
        name, address = f"{name}_{self.key}", self.addresses.databases[database]
        if self.case.site in ON_SQLITE:
            return RowsEnd(SqliteTable(name), str(self._file("ledger")), keeps_last)
        return RowsEnd(PostgresTable(name, dsn=address if database else None), address, keeps_last)

    def _topic(self, name: str) -> TopicEnd:
        # what is compressed is refused by the broker only, behind the pin
        options = {"compression.type": "gzip"} if self.case.script in DECISIONS else {}
        sink = KafkaSink(
            f"{name}_{self.key}",
            bootstrap_servers=self.addresses.kafka,
            marker_topic=self._markers,
            client_options=options,
        )
        return TopicEnd(sink, f"{name}-{self.key}", sends_later=self.case.site is not Site.KAFKA)

    @property
    def _markers(self) -> str:
        return f"markers-{self.key}"

    def _file(self, name: str) -> Path:
        return Path(self.addresses.folder) / f"{name}-{self.key}.sqlite"
