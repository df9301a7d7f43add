"""A connection that notices when its server waits for it in turn, or has forgotten it.

What TCP does not acknowledge ends by TCP's own limits (keepalives, `tcp_user_timeout`). Something in between (a tunnel,
a proxy, a firewall with a table of its own) can acknowledge everything and pass nothing on: then both sides wait for
each other without any limit, with the locks of the one and the lease of the other.
"""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, field
from typing import TypeVar

import psycopg
from psycopg.abc import PQGen
from psycopg.rows import TupleRow

from trident.state.postgres.looking import Look, Session
from trident.state.postgres.onlooker import Onlooker, address_of, may_open_another, unsent

_log = logging.getLogger("trident.postgres")
R = TypeVar("R")
_NOTHING = 0
"""What the driver is told when neither direction is ready."""
_LOOKS = 3
"""How often in a row the server must say that it does nothing for this connection, and has got nothing since."""
_LOOKS_THERE = 8
"""The same while its session is there, two leases in all: a long statement may be on its way, on a narrow line."""
_SILENT_PAUSES = 8
"""For how long nobody may answer, two leases: a server that is away for a moment ends nothing."""


class AnswerLostError(psycopg.OperationalError):
    """The server has nothing more to say to a connection that waits for it; the connection is closed."""


@dataclass(frozen=True, slots=True)
class _Found:
    """What the server does for a connection."""

    is_at_work: bool
    copied: str | None = None
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
    unanswered_since: float | None = None
    asked_at: float = 0.0
    look_at: float = field(init=False)

    def __post_init__(self) -> None:
        self.again()

    @property
    def is_lost(self) -> bool:
        """Whether the server has said often enough that it does nothing."""
        is_there = self.last is not None and self.last.is_there
        return self.lost >= (_LOOKS_THERE if is_there else _LOOKS)

    @property
    def is_unanswered(self) -> bool:
        """Whether nobody has answered for long enough."""
        since = self.unanswered_since
        return since is not None and time.monotonic() - since >= _SILENT_PAUSES * self.pause

    def again(self) -> None:
        """Look again after a pause."""
        self.look_at = time.monotonic() + self.pause

    def broken(self) -> None:
        """Something has come."""
        self.lost, self.unanswered_since = 0, None
        self.again()

    def note(self, found: _Found | None) -> None:
        """Count what was found, None if nobody has answered; what goes on, however slowly, is not lost."""
        self.again()
        if found is None:
            self.unanswered_since = self.asked_at if self.unanswered_since is None else self.unanswered_since
            return
        self.unanswered_since = None
        if found.is_at_work:
            self.lost = 0
        else:
            self.lost = self.lost + 1 if found == self.last else 1
        self.last = found


class PatientConnection(psycopg.Connection[TupleRow]):
    """psycopg's connection; where it has waited for long, it asks on another one whether the server is at work for it.

    A statement may take as long as it takes, and wait for locks; `AnswerLostError` is raised when the session is gone,
    or waits for its client, as seen several times in a row, or when the server is silent for everybody. Its session is
    ended before that, so that it keeps nothing locked. Nothing is asked before `be_patient`. Each connection of a
    process looks for itself, in the thread that waits, and takes its own answer as soon as that comes.
    """

    _dsn: str | None = None
    _pause = 0.0
    _server = ""
    _began = ""

    def be_patient(self, dsn: str, lease_seconds: float) -> None:
        """Ask by this address, four times per lease."""
        self._dsn, self._pause = dsn, lease_seconds / 4

    def is_of(self, server: str, began: str) -> None:
        """Say which start of the server it is, which no session outlives, and when the session began."""
        self._server, self._began = server, began

    @property
    def _session(self) -> Session:
        return Session(self.info.backend_pid, self._began)

    def wait(self, gen: PQGen[R], interval: float = 0.1, timeout: float | None = None) -> R:
        """Wait as psycopg does, each time that nothing has come for a pause with a look."""
        watched = self._watched(gen)
        return super().wait(watched, interval) if timeout is None else super().wait(watched, interval, timeout)

    def _watched(self, gen: PQGen[R]) -> PQGen[R]:
        silence, look = _Silence(self._pause), None
        try:
            wanted = next(gen)
            while True:
                ready = yield wanted
                if ready != _NOTHING:
                    silence.broken()
                    if look is not None:
                        look.drop()
                elif self._dsn is not None and time.monotonic() >= silence.look_at:
                    look = look or Look(address_of(self, self._dsn), self._session)
                    self._look(look, silence, int(wanted))
                wanted = gen.send(ready)
        except StopIteration as end:
            result: R = end.value
            return result
        finally:
            if look is not None:
                look.close()

    def _look(self, look: Look, silence: _Silence, wanted: int) -> None:
        """Ask after the session, or go on with that, and give up what is lost."""
        if not look.is_under_way:
            silence.asked_at = time.monotonic()
        if not look.goes_on(self.pgconn.socket, wanted):
            return
        silence.note(self._found(look.onlooker))
        if silence.is_lost:
            self._give_up("the server's session is gone or waits for this process, which waits for its answer", look)
        if silence.is_unanswered:
            self._give_up("the server answers nobody", look)

    def _found(self, onlooker: Onlooker) -> _Found | None:
        """Return what the server does for this connection; None: nobody says.

        A server that refuses a login, or takes long over it, is at work, as far as anybody can tell; so it is where
        this process has no descriptor left to ask with.
        """
        if not onlooker.is_answered or onlooker.row is None:
            is_at_work = onlooker.is_heard or not may_open_another(self.pgconn.socket)
            return _Found(is_at_work=True) if is_at_work else None
        server, is_a_replica, state, waits_for, is_there, copied = onlooker.row
        if self._server and server != self._server:
            return None if is_a_replica == "true" else _Found(is_at_work=False)  # no session outlives its server
        waits = str(state).startswith("idle") or (state in ("active", "disabled") and waits_for == "Client")
        is_known = is_there == "true"
        return _Found(is_known and not waits, copied, unsent(self.pgconn.socket), is_known)

    def _give_up(self, why: str, look: Look) -> None:
        self.pgconn.finish()
        if look.ends_the_session(self._pause):
            _log.warning("ended backend %d of this process, which was given up: its answers did not come", look.pid)
        raise AnswerLostError(f"an answer never came: {why}")
