"""What a connection that waits asks about its own session, on another connection to the same server."""

from __future__ import annotations

import select
import time
from dataclasses import dataclass

from psycopg.waiting import Wait

from trident.state.postgres.onlooker import Asking, Onlooker

LOGIN_SECONDS = 10
"""How long a login may take, one that is made to ask on as well as any other."""
_SLICE_MS = 100
"""For how long an answer is waited for before the driver has its turn again."""
_SESSION = "a.pid = $1::int AND ($2::text = '' OR extract(epoch FROM a.backend_start)::text = $2)"
"""The moment at which it began is compared, too: a number may belong to another session by now."""
_LOOK = f"""
    SELECT extract(epoch FROM pg_catalog.pg_postmaster_start_time())::text, pg_catalog.pg_is_in_recovery()::text,
           a.state, a.wait_event_type, (a.pid IS NOT NULL)::text,
           (SELECT c.bytes_processed::text FROM pg_catalog.pg_stat_progress_copy AS c WHERE c.pid = a.pid)
    FROM (SELECT 1) AS one LEFT JOIN pg_catalog.pg_stat_activity AS a ON {_SESSION}""".encode()
_END = f"""
    SELECT pg_catalog.pg_terminate_backend(a.pid, $3::bigint)::text
    FROM pg_catalog.pg_stat_activity AS a WHERE {_SESSION}""".encode()


@dataclass(frozen=True, slots=True)
class Session:
    """A session of a server: its number, and when it began as far as that is known."""

    pid: int
    began: str


class Look:
    """One connection's questions about its own session, one at a time, with one login."""

    def __init__(self, address: str, session: Session) -> None:
        self.onlooker = Onlooker(address)
        self.pid = session.pid
        self._session = session
        self._asking: Asking | None = None
        self._waits_for = (0, 0)
        self._until = 0.0

    @property
    def is_under_way(self) -> bool:
        """Whether a question was asked and has not come to an end."""
        return self._asking is not None

    def goes_on(self, own: int, wanted: int) -> bool:
        """Ask, or go on with that, until something comes on the descriptor of the connection itself.

        Returns whether it came to an end. `wanted` is what the driver waits for.
        """
        if self._asking is None:
            self._begin(_LOOK, (str(self.pid), self._session.began), LOGIN_SECONDS)
        events = (select.POLLIN if wanted & Wait.R else 0) | (select.POLLOUT if wanted & Wait.W else 0)
        while self._asking is not None:
            if not self._has_gone_on(self._ready({own: events})):
                return False
        return True

    def ends_the_session(self, seconds: float) -> bool:
        """End this very session where the server still has it and lets this role, waiting so long for its end.

        Nothing is asked where the last question had no answer, or where it is not known when the session began.
        """
        if not self._session.began or not self.onlooker.is_answered:
            return False
        self._begin(_END, (str(self.pid), self._session.began, str(int(seconds * 1000))), 2 * seconds)
        while self._asking is not None:
            self._has_gone_on(self._ready({}))
        return self.onlooker.row == ("true",)

    def drop(self) -> None:
        """Ask no further for now."""
        if self._asking is not None:
            self._asking.close()
            self._asking = None

    def close(self) -> None:
        """End the login too; may be called again."""
        self.drop()
        self.onlooker.close()

    def _begin(self, statement: bytes, parameters: tuple[str, ...], seconds: float) -> None:
        self._until = time.monotonic() + seconds
        self._asking = self.onlooker.ask(statement, parameters)
        self._next()

    def _ready(self, others: dict[int, int]) -> dict[int, int]:
        poll = select.poll()  # needs no descriptor of its own
        for descriptor, events in (self._waits_for, *others.items()):
            poll.register(descriptor, events)
        return dict(poll.poll(_SLICE_MS))

    def _has_gone_on(self, ready: dict[int, int]) -> bool:
        """Take in what has come; whoever is silent for too long is asked no further."""
        if self._waits_for[0] in ready:
            self._next()
            return True
        if time.monotonic() < self._until:
            return False
        self.drop()
        return True

    def _next(self) -> None:
        assert self._asking is not None
        try:
            self._waits_for = next(self._asking)
        except StopIteration:
            self._asking = None
