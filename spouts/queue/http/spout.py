"""Messages that are posted over HTTP, each answered when its batch is done."""

from __future__ import annotations

import ipaddress
import logging
from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from trident.base.checks import check_count, check_duration, check_text, refused
from trident.base.errors import ConfigurationError
from trident.spouts.queue.acking import AckingSpout, SpoutContext
from trident.spouts.queue.addresses import check_name
from trident.spouts.queue.bodies.body import Body, RawBody, checked_body
from trident.spouts.queue.message import Message

if TYPE_CHECKING:
    from trident.spouts.queue.http.desk import PushDesk
    from trident.spouts.queue.http.server import PushServer

_log = logging.getLogger("trident.queues")
_MOST_PORTS: Final = 65_535
_MOST_WAITING: Final = 10_000
_LONGEST_WAIT: Final = timedelta(hours=1)
_TOLD_S: Final = 2.0
"""How long a process that ends waits until those were told whose messages are not done."""


class HttpPushSpout(AckingSpout):
    """Messages that senders POST to this process: `HttpPushSpout(port=8080, body=JsonBody("account string"))`.

    Guarantee: 200 is answered when the message is in every state and sink, never before (at most once: when it is
    recorded). Whoever gets another answer, or none, sends it again with the same id (the header `Idempotency-Key` or
    `Message-Id`), and it counts once. So the sender keeps what it sends until 200: nothing else does.

    503 with Retry-After: it failed, it is not done within `wait`, or nobody takes messages now; 429: `max_pending` are
    under way; 400: no id, or a body that can't be read; 401, 404, 405, 411, 413; 422: another body with the id of a
    message that is under way, or done (within the `horizon`). A request that waits holds a thread of this process.

    It listens on this machine alone unless `host` says otherwise, and then needs a `token`, which senders give as
    `Authorization: Bearer …`; it speaks no TLS, which a proxy in front has to. With port 0 it takes a free one, another
    in each process, and says in the log which.
    """

    max_pending = 1_000

    def __init__(
        self,
        *,
        port: int,
        host: str = "127.0.0.1",
        path: str = "/",
        body: Body = RawBody(),  # noqa: B008 - it is immutable
        token: str | None = None,
        wait: timedelta = timedelta(seconds=30),
        max_body: int = 1 << 20,
        max_pending: int | None = None,
    ) -> None:
        """`max_body`: bytes of a message; `max_pending`: messages under way, at most 10,000, else the class's."""
        self._port = check_count("port", port, least=0, most=_MOST_PORTS)
        self._host = check_name("host", host, "an address of this machine")
        self._path = check_name("path", path, "a path such as '/payments'")
        if not self._path.startswith("/"):
            raise refused("path", "a path such as '/payments'", path)
        self._body = checked_body(body)
        self.schema = body.schema  # type: ignore[misc]  # each object has its own
        self._token = None if token is None else check_text("token", token, secret=True)
        self._wait_s = check_duration("wait", wait, longest=_LONGEST_WAIT).total_seconds()
        self._max_body = check_count("max_body", max_body)
        pending = self.max_pending if max_pending is None else max_pending
        self.max_pending = check_count("max_pending", pending, most=_MOST_WAITING)
        if token is None and not _is_loopback(self._host):
            raise ConfigurationError(
                "host can be reached from elsewhere, since it is none of 127.0.0.1, ::1 and localhost: senders have to "
                "show a token; nothing was started"
            )
        self._desk: PushDesk | None = None
        self._server: PushServer | None = None

    def __repr__(self) -> str:
        return f"HttpPushSpout(port={self._port}, host={self._host!r}, path={self._path!r})"

    @property
    def port(self) -> int:
        """Where it listens; of a spout that is not open, what was asked for."""
        return self._port if self._server is None else self._server.port

    def identity(self) -> Mapping[str, str]:
        """Return the path; the machine and the port may change."""
        return {"spout": "http", "path": self._path}

    def open(self, context: SpoutContext) -> None:
        """Listen; raises `RetryableError` where another program has the port."""
        from trident.spouts.queue.http.desk import PushDesk
        from trident.spouts.queue.http.server import PushRules, PushServer

        rules = PushRules(
            self._path, self._body, self._max_body, self._wait_s, self.max_pending, self.horizon > 0, self._token
        )
        self._desk = PushDesk(self.max_pending)
        self._server = PushServer(self._host, self._port, rules, self._desk)
        self._server.serve()
        _log.info("stream %s: messages may be posted to %s:%d%s", context.stream, self._host, self.port, self._path)

    def next_tuple(self) -> Message | None:
        """Return the message that was posted first of those that were not emitted."""
        return self._opened().take()

    def ack(self, id_: str | None) -> None:
        """Answer 200 to all who have posted the message."""
        self._settle(id_, is_done=True)

    def fail(self, id_: str | None) -> None:
        """Answer 503 to all who have posted the message: they send it again."""
        self._settle(id_, is_done=False)

    def refuse(self, id_: str | None) -> None:
        """Answer 422 to all who have posted the message: another one with its id is done or under way."""
        from trident.spouts.queue.http.desk import Answer

        self._opened().settle(id_ or "", Answer.OTHER)

    def activate(self) -> None:
        """Take messages."""
        self._opened().set_open(True)

    def deactivate(self) -> None:
        """Answer 503 to whoever posts, at once; who waits goes on waiting."""
        self._opened().set_open(False)

    def close(self) -> None:
        """Answer 503 to all who wait, and listen no more."""
        if self._desk is not None and self._server is not None:
            self._desk.end(_TOLD_S)
            self._server.close()
            self._desk = self._server = None

    def _opened(self) -> PushDesk:
        assert self._desk is not None, "the spout was not opened"
        return self._desk

    def _settle(self, id_: str | None, *, is_done: bool) -> None:
        from trident.spouts.queue.http.desk import Answer

        self._opened().settle(id_ or "", Answer.DONE if is_done else Answer.FAILED)


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
