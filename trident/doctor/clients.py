"""How an examination asks: clients that are made late, statements that only read, errors in the library's words."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TypeVar

from kafka import errors as kafka_errors
from kafka.admin import KafkaAdminClient
from sqlalchemy import Connection, text

from trident.base.errors import RetryableError
from trident.base.kafka.admin import admin_of, is_reachable
from trident.base.kafka.errors import OF_THE_CLIENT
from trident.spouts.kafka.errors import classify
from trident.state.databases.base import SqlDatabase
from trident.state.postgres.database import PostgresDatabase

_T = TypeVar("_T")


class ClusterAt:
    """One cluster as one login sees it; connects at the first question. Its repr shows no option."""

    def __init__(self, servers: str, options: Mapping[str, str], seconds: float) -> None:
        self.servers = servers
        self.options = options
        self._seconds = seconds
        self._admin: KafkaAdminClient | None = None
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"ClusterAt({self.servers!r})"

    def ask(self, doing: str, question: Callable[[KafkaAdminClient], _T], *expected: type[Exception]) -> _T:
        """Return an answer; `doing` completes "could not …". Errors of Kafka's that are expected are left as they are.

        Raises RetryableError or FatalError for all others.
        """
        try:
            return question(self._connected())
        except expected:
            raise
        except (kafka_errors.KafkaError, OSError) as error:
            raise classify(error, doing, self.servers) from error
        except OF_THE_CLIENT as error:
            raise classify(error, doing, self.servers) from None  # it may quote what it was given

    def close(self) -> None:
        """Let go of the connection; may be called again."""
        admin, self._admin = self._admin, None
        if admin is not None:
            admin.close()

    def _connected(self) -> KafkaAdminClient:
        with self._lock:
            if self._admin is None:
                if not is_reachable(self.servers, self._seconds):
                    raise RetryableError(f"no Kafka broker answers at {self.servers}")
                self._admin = admin_of(self.servers, self.options, int(self._seconds * 1000))
            return self._admin


@contextmanager
def reading(database: SqlDatabase) -> Iterator[Connection]:
    """Give a connection on which nothing can be written, as far as the database can be told so."""
    with database.transaction() as transaction:
        if isinstance(database, PostgresDatabase):
            milliseconds = int(database.lease_seconds * 1000)
            transaction.connection.execute(text("SET TRANSACTION READ ONLY"))
            transaction.connection.execute(text(f"SET LOCAL statement_timeout = {milliseconds}"))
        yield transaction.connection
