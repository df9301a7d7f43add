"""The broker and the database that every system is measured on, started once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.parse import urlsplit

import psycopg
from confluent_kafka.admin import AdminClient
from psycopg import sql

from benchmarks.workloads import PARTITIONS
from trident.local.kafka import LocalKafka
from trident.local.postgres import LocalPostgres

_DROP_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Servers:
    """A running broker and database server."""

    kafka: LocalKafka
    postgres: LocalPostgres

    @property
    def bootstrap_servers(self) -> str:
        """Address of the broker."""
        return self.kafka.bootstrap_servers

    def make_topic(self, name: str, configs: dict[str, str] | None = None) -> None:
        """Create an empty topic."""
        self.kafka.create_topic(name, PARTITIONS, configs)

    def drop_topic(self, name: str) -> None:
        """Give a topic's room back."""
        admin = AdminClient({"bootstrap.servers": self.bootstrap_servers, "log_level": 3})
        admin.delete_topics([name])[name].result(_DROP_SECONDS)

    @contextmanager
    def database(self) -> Iterator[str]:
        """Give an empty database; it is dropped afterwards, and nothing of the one before is still to be written."""
        dsn = self.postgres.create_database()
        self._execute(sql.SQL("CHECKPOINT"))
        try:
            yield dsn
        finally:
            name = urlsplit(dsn).path.removeprefix("/")
            self._execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))

    def _execute(self, statement: sql.SQL | sql.Composed) -> None:
        with psycopg.connect(self.postgres.dsn, autocommit=True) as connection:
            connection.execute(statement)


@contextmanager
def local_servers() -> Iterator[Servers]:
    """Start both; the database server records when each transaction committed, for every system alike."""
    with LocalKafka() as kafka, LocalPostgres() as postgres:
        with psycopg.connect(postgres.dsn, autocommit=True) as connection:
            connection.execute("ALTER SYSTEM SET track_commit_timestamp = on")
        postgres.stop()
        postgres.start()
        yield Servers(kafka, postgres)
