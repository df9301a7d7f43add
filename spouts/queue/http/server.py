"""The server that messages are posted to: reads requests, refuses what is none, and answers after the commit."""

from __future__ import annotations

import errno
import hmac
import logging
import socket
import threading
import time
import uuid
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from socketserver import TCPServer, ThreadingMixIn
from typing import Final, cast

from trident.base.errors import FatalError, RetryableError
from trident.spouts.queue.bodies.body import Body
from trident.spouts.queue.http.desk import Answer, PushDesk
from trident.spouts.queue.message import Message, body_digest
from trident.spouts.queue.received import Received, UnreadableError, id_problem

_Request = socket.socket | tuple[bytes, socket.socket]

_log = logging.getLogger("trident.queues")
_ID_HEADERS: Final = ("Idempotency-Key", "Message-Id")
_SECRET_HEADERS: Final = frozenset(("authorization", "cookie", "proxy-authorization"))
_READ_S: Final = 10.0
"""How long a sender may let the server wait for the next piece of its request."""
_UNREAD_S: Final = 10.0
_MOST_UNREAD: Final = 64 << 20
"""How long, and how much, a sender whose request is refused may go on sending of it until it hears the answer."""
_AT_ONCE: Final = 1 << 16
_SPARE: Final = 64
"""How many connections there may be beside those whose message is waited for."""
_FULL: Final = b"HTTP/1.1 429 Too Many Requests\r\nRetry-After: 1\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
_ANSWERS: Final[Mapping[Answer, tuple[HTTPStatus, str]]] = {
    Answer.DONE: (HTTPStatus.OK, "done"),
    Answer.FAILED: (HTTPStatus.SERVICE_UNAVAILABLE, "not done: send it again, with the same id"),
    Answer.LATE: (HTTPStatus.SERVICE_UNAVAILABLE, "not done yet: send it again, with the same id"),
    Answer.CLOSED: (HTTPStatus.SERVICE_UNAVAILABLE, "no messages are taken now: send it again"),
    Answer.FULL: (HTTPStatus.TOO_MANY_REQUESTS, "too many messages are under way: send it again, later"),
    Answer.UNCLEAR: (
        HTTPStatus.SERVICE_UNAVAILABLE,
        "another body with this id waits, and one of the two will be refused: send it again, with the same id, or "
        "with one of its own if it is another message",
    ),
    Answer.OTHER: (
        HTTPStatus.UNPROCESSABLE_ENTITY,
        "another message with this id is done, or under way: this one is in no result. Send it with an id of its own",
    ),
}


@dataclass(frozen=True, slots=True)
class PushRules:
    """What is taken from whom; the repr shows no token."""

    path: str
    body: Body
    max_body: int
    wait_s: float
    max_pending: int
    needs_id: bool
    token: str | None = field(default=None, repr=False)


class PushServer(ThreadingMixIn, TCPServer):
    """Listens from when it is made; `serve` answers requests, a thread for each connection, until `close`."""

    allow_reuse_address = True
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(self, host: str, port: int, rules: PushRules, desk: PushDesk) -> None:
        self.rules = rules
        self.desk = desk
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._connections = threading.BoundedSemaphore(rules.max_pending + _SPARE)
        try:
            super().__init__((host, port), _PushHandler)
        except OSError as error:
            raise _unbound(error, host, port) from None
        self._thread = threading.Thread(target=self.serve_forever, args=(0.1,), name="http push", daemon=True)

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self.server_address[1])

    def serve(self) -> None:
        """Answer requests from now on."""
        self._thread.start()

    def close(self) -> None:
        """Take no more connections; those that are open end with this process."""
        self.shutdown()
        self.server_close()

    def process_request(self, request: _Request, client_address: object) -> None:
        """Give a connection its thread, or turn it away."""
        if not self._connections.acquire(blocking=False):
            self._turn_away(request)
            return
        super().process_request(request, client_address)

    def process_request_thread(self, request: _Request, client_address: object) -> None:
        """Serve a connection until it ends."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._connections.release()

    def handle_error(self, request: _Request, client_address: object) -> None:
        """Say nothing: a sender that has gone hears no answer, and sends again."""
        _log.debug("a connection ended early", exc_info=True)

    def _turn_away(self, request: _Request) -> None:
        assert isinstance(request, socket.socket)
        with suppress(OSError):  # it has gone
            request.settimeout(1)
            request.sendall(_FULL)
        self.shutdown_request(request)


class _PushHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "trident"
    sys_version = ""
    timeout = _READ_S
    _is_unread = False
    """Whether a request was answered of which there may be more to read."""

    def finish(self) -> None:
        """End the connection, behind what is still sent: else it would be reset, and the answer not be heard."""
        super().finish()
        if self._is_unread:
            with suppress(OSError):  # it has gone, or is too slow
                self._read_away()

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Answer what is no request."""
        self._is_unread = True
        super().send_error(code, message, explain)

    def do_POST(self) -> None:
        """Take a message, and answer when it is known what became of it."""
        rules, desk = self._server.rules, self._server.desk
        problem = self._refused(rules)
        if problem is not None:
            self._say(*problem, is_last=True)  # its body is nobody's
            return
        body = self.rfile.read(int(self.headers["Content-Length"]))
        message = self._message(rules, body)
        if isinstance(message, str):
            self._say(HTTPStatus.BAD_REQUEST, message)
            return
        self._say(*_ANSWERS[desk.post(message, body, rules.wait_s)])

    def do_GET(self) -> None:
        """Refuse."""
        self._say(HTTPStatus.METHOD_NOT_ALLOWED, "messages are posted", is_last=True)

    do_PUT = do_DELETE = do_PATCH = do_HEAD = do_GET

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name that it has there
        """Say nothing of each request: a line would hold what a sender wrote."""

    @property
    def _server(self) -> PushServer:
        return cast("PushServer", self.server)

    def _refused(self, rules: PushRules) -> tuple[HTTPStatus, str] | None:
        """Return why a request is not read on."""
        if rules.token is not None and not self._has_token(rules.token):
            return HTTPStatus.UNAUTHORIZED, "the token is missing or wrong"
        if self.path != rules.path:
            return HTTPStatus.NOT_FOUND, "no messages are taken at this path"
        lengths = self.headers.get_all("Content-Length", [])
        if not lengths or self.headers.get("Transfer-Encoding") is not None:
            return HTTPStatus.LENGTH_REQUIRED, "a body has to have its Content-Length"
        length = lengths[0]
        if len(lengths) > 1 or not (length.isascii() and length.isdigit()):
            return HTTPStatus.BAD_REQUEST, "Content-Length is no number"  # of two a proxy may have taken the other
        if len(length) > len(str(rules.max_body)) + 1 or int(length) > rules.max_body:
            return HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"a body has at most {rules.max_body} bytes"
        return None

    def _has_token(self, token: str) -> bool:
        given = self.headers.get("Authorization", "")
        return hmac.compare_digest(given.encode(errors="replace"), f"Bearer {token}".encode())

    def _message(self, rules: PushRules, body: bytes) -> Message | str:
        """Return the message, or what is wrong with it."""
        if len(body) != int(self.headers["Content-Length"]):
            self.close_connection = True
            return "the body ends before its Content-Length"
        given = {value for name in _ID_HEADERS for value in self.headers.get_all(name, ())}
        if len(given) > 1:
            return f"there are several ids in {' and '.join(_ID_HEADERS)}"
        if not given and rules.needs_id:
            return f"there is no id in {' or '.join(_ID_HEADERS)}, by which it is known when it is sent again"
        id_ = given.pop() if given else f"none/{uuid.uuid4().hex}"
        problem = id_problem(id_)
        if problem is not None:
            return f"the id {problem}"
        attributes = {
            name.lower(): value.encode(errors="replace")
            for name, value in self.headers.items()
            if name.lower() not in _SECRET_HEADERS
        }
        try:
            values = rules.body.values(Received(id_, self.path, body, None, attributes))
        except UnreadableError as error:
            return f"the body can't be read: {error}"
        return Message(values, id_, digest=body_digest(body))

    def _say(self, status: HTTPStatus, text: str, *, is_last: bool = False) -> None:
        said = f"{text}\n".encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/plain; charset=utf-8")
        self.send_header("Content-Length", str(len(said)))
        if status in (HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.TOO_MANY_REQUESTS):
            self.send_header("Retry-After", "1")
        if status is HTTPStatus.UNAUTHORIZED:
            self.send_header("WWW-Authenticate", "Bearer")
        if status is HTTPStatus.METHOD_NOT_ALLOWED:
            self.send_header("Allow", "POST")
        if is_last:
            self._is_unread = True
            self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(said)

    def _read_away(self) -> None:
        self.connection.shutdown(socket.SHUT_WR)
        until, left = time.monotonic() + _UNREAD_S, _MOST_UNREAD
        while left > 0 and (seconds := until - time.monotonic()) > 0:
            self.connection.settimeout(seconds)
            read = len(self.connection.recv(_AT_ONCE))
            left = left - read if read else 0


def _unbound(error: OSError, host: str, port: int) -> FatalError | RetryableError:
    if error.errno == errno.EADDRINUSE:
        return RetryableError(
            f"another program listens on {host}:{port}, which may be an earlier process of this spout that is about to "
            "end; nothing was taken. If it stays so, choose another port, or end that program (`ss -ltnp` "
            "names it)"
        )
    return FatalError(
        f"can't listen on {host}:{port} ({errno.errorcode.get(error.errno or 0, type(error).__name__)}); nothing was "
        "taken. host has to be an address of this machine, and a port below 1024 needs a right of its own"
    )
