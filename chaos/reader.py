"""A reader who looks at a state all the time, as any user may, and remembers what they saw."""

from __future__ import annotations

import threading

import psycopg
from psycopg import sql

from chaos.checker import Seen

_PAUSE_SECONDS = 0.02
_LOOK = """
    SELECT (SELECT txid FROM trident_applied WHERE state = {name}),
           coalesce(sum(n), 0)::bigint, coalesce(sum(total), 0)::bigint, coalesce(sum(ids), 0)::bigint
    FROM {table}
"""


class Reader:
    """Looks in a thread of its own until the block ends; a server that is away is asked again."""

    def __init__(self, dsn: str, state: str) -> None:
        self._dsn = dsn
        self._state = state
        self._looks: list[Seen] = []
        self._count = 0
        self._over = threading.Event()
        self._failed: psycopg.Error | None = None
        self._thread = threading.Thread(target=self._run, name=f"reader-{state}", daemon=True)

    def __enter__(self) -> Reader:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    @property
    def state(self) -> str:
        return self._state

    @property
    def count(self) -> int:
        """How often the reader has looked."""
        return self._count

    def seen(self) -> list[Seen]:
        """Return all different looks in their order; raises the error that ended the reader."""
        if self._failed is not None:
            raise self._failed
        return list(self._looks)

    def _run(self) -> None:
        while not self._over.is_set():
            try:
                with psycopg.connect(self._dsn, autocommit=True) as connection:
                    self._look(connection)
            except (psycopg.OperationalError, psycopg.errors.UndefinedTable):
                self._over.wait(0.1)
            except psycopg.Error as error:
                self._failed = error
                return

    def _look(self, connection: psycopg.Connection) -> None:
        statement = sql.SQL(_LOOK).format(name=sql.Literal(self._state), table=sql.Identifier(self._state))
        while not self._over.wait(_PAUSE_SECONDS):
            row = connection.execute(statement).fetchone()
            assert row is not None
            self._count += 1
            seen = Seen(int(row[0] or 0), (int(row[1]), int(row[2]), int(row[3])))
            if not self._looks or self._looks[-1] != seen:
                self._looks.append(seen)
