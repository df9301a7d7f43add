"""A connection to one server on which is asked what becomes of another connection's session there.

Nothing here waits: who asks goes on with the question whenever its socket is ready, and with what else it waits for
meanwhile. So a login may be slow without keeping anything up, and one login serves all questions.
"""

from __future__ import annotations

import fcntl
import os
import select
import sys
import termios
from collections.abc import Generator, Sequence

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.pq import ConnStatus, ExecStatus, PGconn, PollingStatus
from psycopg.pq import abc as pq

Asking = Generator[tuple[int, int], None, None]
"""Yields the descriptor and the events (of `select.poll`) without which it can't go on."""
Row = tuple[str | None, ...]
_OWN_NAMES = b"SET ROLE NONE; SET search_path = ''"
"""A role of the login's settings may not see the login's sessions; nothing of a user's stands for the server's own."""


class Onlooker:
    """Asks one server by a login of its own, which it keeps until a question gets no answer, or `close`."""

    def __init__(self, address: str) -> None:
        self._address = address.encode()
        self._pgconn: pq.PGconn | None = None
        self._is_ready = False
        self.row: Row | None = None
        """What the last question was answered with; None: nothing, or no such row."""
        self.is_answered = False
        """Whether the last question was answered with a row, or with none."""
        self.is_heard = False
        """Whether that server has said anything since the last question: a refusal, too, is said by one at work."""

    def ask(self, statement: bytes, parameters: Sequence[str]) -> Asking:
        """Ask one question; a login that was kept and is gone is made again."""
        self.row, self.is_answered, self.is_heard = None, False, False
        values = [each.encode() for each in parameters]
        is_kept = self._pgconn is not None and self._is_ready
        try:
            yield from self._ask_once(statement, values)
            if is_kept and not self.is_answered:
                yield from self._ask_once(statement, values)
        except GeneratorExit:
            self.close()  # in the middle of a login, or of an answer
            raise

    def close(self) -> None:
        """End the login, if there is one; may be called again."""
        pgconn, self._pgconn, self._is_ready = self._pgconn, None, False
        if pgconn is not None:
            pgconn.finish()

    def _ask_once(self, statement: bytes, values: Sequence[bytes]) -> Asking:
        try:
            if self._pgconn is None or not self._is_ready:
                yield from self._log_in()
            assert self._pgconn is not None
            self._pgconn.send_query_params(statement, values)
            yield from self._take_results(self._pgconn)
            self.is_answered = True
        except psycopg.Error:
            self.close()

    def _log_in(self) -> Asking:
        self.close()
        pgconn = self._pgconn = PGconn.connect_start(self._address)
        polled = PollingStatus.WRITING if pgconn.status != ConnStatus.BAD else PollingStatus.FAILED
        while polled in (PollingStatus.READING, PollingStatus.WRITING):
            polled = PollingStatus(pgconn.connect_poll())
            if polled == PollingStatus.READING:
                yield from self._hear(pgconn)
            elif polled == PollingStatus.WRITING:
                yield pgconn.socket, select.POLLOUT
        if polled != PollingStatus.OK:
            raise psycopg.OperationalError("no login")
        pgconn.nonblocking = 1
        pgconn.send_query(_OWN_NAMES)
        yield from self._take_results(pgconn)
        self._is_ready = True

    def _take_results(self, pgconn: pq.PGconn) -> Asking:
        while pgconn.flush():
            yield pgconn.socket, select.POLLOUT
        while True:
            while pgconn.is_busy():
                yield from self._hear(pgconn)
                pgconn.consume_input()
            result = pgconn.get_result()
            if result is None:
                return
            if result.status not in (ExecStatus.TUPLES_OK, ExecStatus.COMMAND_OK):
                raise psycopg.OperationalError("no answer")
            self.row = _row(result) if result.ntuples else None

    def _hear(self, pgconn: pq.PGconn) -> Asking:
        yield pgconn.socket, select.POLLIN
        self.is_heard = self.is_heard or _counted(pgconn.socket, termios.FIONREAD) > 0


def address_of(connection: psycopg.Connection, dsn: str) -> str:
    """Return how to log in to the very server that a connection leads to, whatever others the address names."""
    info = connection.info
    given = conninfo_to_dict(dsn)
    named: dict[str, str | int] = {"host": info.host, "hostaddr": info.hostaddr, "port": info.port}
    if not info.hostaddr:  # a Unix socket
        del named["hostaddr"]
        given.pop("hostaddr", None)
    given.update(named, target_session_attrs="any")
    return make_conninfo("", **{"fallback_application_name": "trident", **given})


def unsent(socket: int) -> int:
    """Return how many bytes the other side has not acknowledged; 0 where the system does not tell."""
    return _counted(socket, termios.TIOCOUTQ)


def may_open_another(descriptor: int) -> bool:
    """Tell whether this process has a descriptor left: without one it can't ask, whatever the server does."""
    try:
        os.close(os.dup(descriptor))
    except OSError:
        return False
    return True


def _row(result: pq.PGresult) -> Row:
    values = (result.get_value(0, column) for column in range(result.nfields))
    return tuple(None if value is None else value.decode() for value in values)


def _counted(socket: int, what: int) -> int:
    answer = bytearray(4)
    try:
        fcntl.ioctl(socket, what, answer)
    except OSError:
        return 0
    return int.from_bytes(answer, sys.byteorder)
