"""A connection that notices when its server waits for it in turn, or has forgotten it.

What TCP does not acknowledge ends by TCP's own limits (keepalives, `tcp_user_timeout`). Something in between (a tunnel,
a proxy, a firewall with a table of its own) can acknowledge everything and pass nothing on: then both sides wait for
each other without any limit, with the locks of the one and the lease of the other.
"""

from __future__ import annotations

import fcntl
import sys
import termios
import time
from contextlib import closing
from dataclasses import dataclass, field
from typing import TypeVar

import psycopg
from psycopg.abc import PQGen
from psycopg.rows import TupleRow

R = TypeVar("R")
_NOTHING = 0
"""What the driver is told when neither direction is ready."""
_LOOK = """
    SELECT extract(epoch FROM pg_postmaster_start_time())::text, pg_is_in_recovery(), a.state, a.wait_event_type,
           a.pid IS NOT NULL, (SELECT c.bytes_processed FROM pg_stat_progress_copy AS c WHERE c.pid = a.pid)
    FROM (SELECT 1) AS one LEFT JOIN pg_stat_activity AS a ON a.pid = %s"""
_LOOKS = 3
"""How often in a row the server must say that it does nothing for this connection, and has got nothing since."""
_LOOKS_THERE = 8
"""The same while its session is there, two leases in all: a long statement may be on its way, on a narrow line."""
_UNANSWERED = 4
"""How many looks in a row may go unanswered, about two leases: a server that is away for a moment ends nothing."""


class AnswerLostError(psycopg.OperationalError):
    """The server has nothing more to say to a connection that waits for it; the connection is closed."""


@dataclass(frozen=True, slots=True)
class _Found:
    """What the server does for a connection."""

    is_at_work: bool
    copied: int | None = None
    """How many bytes of a COPY it has taken."""
    unsent: int = 0
    """How many bytes of ours still lie on this side."""
    is_there: bool = False
    """Whether it may be waiting for the rest of what it was sent."""


@dataclass(slots=True)
class _Silence:
    """How long nothing has come on one connection, and what was found meanwhile."""

    pause: float
    last: _Found | None = None
    lost: int = 0
    unanswered: int = 0
    look_at: float = field(init=False)

    def __post_init__(self) -> None:
        self.again()

    def again(self) -> None:
        """Look again after a pause."""
        self.look_at = time.monotonic() + self.pause

    def broken(self) -> None:
        """Something has come."""
        self.lost = self.unanswered = 0
        self.again()

    def note(self, found: _Found | None) -> None:
        """Count what was found, None if nobody has answered; what goes on, however slowly, is not lost."""
        if found is None:
            self.unanswered += 1
            return
        self.unanswered = 0
        if found.is_at_work:
            self.lost = 0
        else:
            self.lost = self.lost + 1 if found == self.last else 1
        self.last = found


class PatientConnection(psycopg.Connection[TupleRow]):
    """psycopg's connection; where it has waited for long, it asks on another one whether the server is at work for it.

    A statement may take as long as it takes, and wait for locks; `AnswerLostError` is raised when the session is gone,
    or waits for its client, as seen several times in a row. Nothing is asked before `be_patient`. Each connection of a
    process looks for itself, in the thread that waits.
    """

    _dsn: str | None = None
    _pause = 0.0
    _server = ""
    _until: float | None = None

    def be_patient(self, dsn: str, lease_seconds: float) -> None:
        """Ask by this address, four times per lease."""
        self._dsn, self._pause = dsn, lease_seconds / 4

    def is_of(self, server: str) -> None:
        """Say which start of the server it is: no session outlives that."""
        self._server = server

    def wait(self, gen: PQGen[R], interval: float = 0.1, timeout: float | None = None) -> R:
        """Wait as psycopg does, each time that nothing has come for a pause with a look."""
        watched = self._watched(gen)
        return super().wait(watched, interval) if timeout is None else super().wait(watched, interval, timeout)

    def _watched(self, gen: PQGen[R]) -> PQGen[R]:
        silence = _Silence(self._pause)
        try:
            wanted = next(gen)
            while True:
                ready = yield wanted
                if ready != _NOTHING:
                    silence.broken()
                elif time.monotonic() >= silence.look_at:
                    self._look(silence)
                wanted = gen.send(ready)
        except StopIteration as end:
            result: R = end.value
            return result

    def _look(self, silence: _Silence) -> None:
        """Ask after the session, and give up what is lost."""
        if self._until is not None and time.monotonic() >= self._until:
            self._give_up("the server does not answer")
        if self._dsn is None:
            return silence.again()
        silence.note(self._find(self._dsn))
        is_there = silence.last is not None and silence.last.is_there
        if silence.lost >= (_LOOKS_THERE if is_there else _LOOKS):
            self._give_up("the server's session is gone or waits for this process, which waits for its answer")
        if silence.unanswered >= _UNANSWERED:
            self._give_up("the server answers nobody")
        return silence.again()

    def _find(self, dsn: str) -> _Found | None:
        """Ask what the server does for this connection; None: nobody says."""
        try:
            with closing(_other(dsn, max(2.0, self._pause))) as other:
                other.execute("SET ROLE NONE")  # a role of the login's settings may not see the login's sessions
                row = other.execute(_LOOK, (self.info.backend_pid,)).fetchone()
        except psycopg.Error as error:
            return _Found(is_at_work=True) if _is_answered(error) else None
        assert row is not None
        server, is_a_replica, state, waits_for, is_there, copied = row
        if self._server and server != self._server:
            return None if is_a_replica else _Found(is_at_work=False)  # no session outlives its server
        waits = str(state).startswith("idle") or (state in ("active", "disabled") and waits_for == "Client")
        return _Found(is_there and not waits, copied, _unsent(self.pgconn.socket), is_there)

    def _give_up(self, why: str) -> None:
        self.pgconn.finish()
        raise AnswerLostError(f"an answer never came: {why}")


def _is_answered(error: psycopg.Error) -> bool:
    """Tell whether a server at work has refused the connection: it has no room for one more, say.

    One that is starting or stopping has no sessions that do anything.
    """
    return "FATAL" in str(error) and "database system is" not in str(error)


def _unsent(socket: int) -> int:
    """Return how many bytes the other side has not acknowledged; 0 where the system does not tell."""
    answer = bytearray(4)
    try:
        fcntl.ioctl(socket, termios.TIOCOUTQ, answer)
    except OSError:
        return 0
    return int.from_bytes(answer, sys.byteorder)


def _other(dsn: str, seconds: float) -> PatientConnection:
    """Open a connection to ask on, which waits so long at most."""
    other = PatientConnection.connect(dsn, autocommit=True, connect_timeout=max(2, int(seconds)))
    other._until, other._pause = time.monotonic() + seconds, 0.1
    return other
