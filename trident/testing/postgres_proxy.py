"""A TCP proxy in front of PostgreSQL that can misbehave as a network does: cut, hold bytes back, lose an answer.

It understands just enough of the server's protocol to see a COMMIT go by.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import socket
import threading
from collections.abc import Callable, Collection, Coroutine, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from types import TracebackType
from typing import Self, TypeVar
from urllib.parse import urlsplit, urlunsplit

T = TypeVar("T")
_CHUNK = 1 << 16
_BUFFERED = 1 << 17
_HEADER = 5
_SHOWN = 64
_BACKEND = re.compile(rb"(K\x00\x00\x00\x0c)....(....)", re.DOTALL)
"""The message that names the backend: its number, and the key to cancel what it does."""


class Direction(StrEnum):
    """Which way bytes go."""

    TO_SERVER = "to the server"
    TO_CLIENT = "to the client"


def half(data: bytes) -> int:
    """Cut in the middle: mostly inside of the first message of several, before the server has begun anything."""
    return len(data) // 2


def all_but_the_last_byte(data: bytes) -> int:
    """Cut before the last byte: the server has done all that was asked, and waits for the end of the last message."""
    return len(data) - 1


def behind_a_message(number: int) -> Callable[[bytes], int]:
    """Return what cuts behind the so-many-th of the protocol's messages in it, before the last one at the latest."""

    def cut(data: bytes) -> int:
        end = 0
        for _ in range(number):
            size = 1 + int.from_bytes(data[end + 1 : end + _HEADER], "big")
            if len(data) - end < _HEADER or end + size >= len(data):
                break
            end += size
        return end or all_but_the_last_byte(data)

    return cut


class PostgresProxy:
    """Listens on a port of 127.0.0.1 and passes everything on to a server; use it as a context manager.

    Connections are named by the port that the *server* sees (`pg_stat_activity.client_port`), so that a test
    can ask the server which one holds a lock. Every method may be called from any thread.
    """

    def __init__(self, dsn: str, *, as_a_pooler: bool = False) -> None:
        """`as_a_pooler`: name another backend at login than the one that answers, as poolers do."""
        self._address = _address(dsn)
        self._as_a_pooler = as_a_pooler
        self._links: dict[int, _Link] = {}
        self._held: set[Direction] = set()
        self._freezing = _Freezing()
        self._pace = _Pace()
        self._delay = 0.0
        self._dark_behind: _DarkBehind | None = None
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="postgres-proxy", daemon=True)
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    def __enter__(self) -> Self:
        self._thread.start()
        self._server = self._run(asyncio.start_server(self._accept, "127.0.0.1", 0))
        for each in self._server.sockets:
            # whoever buffers megabytes and passes them on slowly says "not now" for longer than `tcp_user_timeout`
            each.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _BUFFERED)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._run(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def through(self, dsn: str) -> str:
        """Return the address of the same database by way of this proxy."""
        assert self._server is not None
        parts = urlsplit(dsn)
        login = parts.netloc.rpartition("@")[0]
        port = self._server.sockets[0].getsockname()[1]
        return urlunsplit(parts._replace(netloc=f"{login}@127.0.0.1:{port}"))

    def lead_to(self, dsn: str) -> None:
        """Connect new clients to another server, as a failover does; those that are connected stay where they are."""
        self._address = _address(dsn)

    def cut(self, ports: Collection[int] | None = None) -> int:
        """Drop connections (all, unless ports are named) without a word; returns how many."""
        return self._run(self._cut(ports))

    def hold(self, direction: Direction) -> None:
        """Keep back what comes in this direction on every connection, also on new ones, until `release`."""
        self._run(self._set_held(self._held | {direction}))

    def hold_answers(self, port: int) -> None:
        """Keep back what the server says on one connection until `release`."""
        self._run(self._hold_link(port, {Direction.TO_CLIENT}))

    def go_dark(self, port: int) -> None:
        """Pass nothing on either way on one connection until `release`; both sides go on to be acknowledged."""
        self._run(self._hold_link(port, set(Direction)))

    def go_dark_behind(self, words: bytes) -> threading.Event:
        """Let the first connection on which clients send these words go dark in the middle of what it sends next.

        The event is set when it has happened.
        """
        self._dark_behind = _DarkBehind(words)
        return self._dark_behind.happened

    def delay_logins(self, seconds: float) -> None:
        """Let each new connection wait so long before anything passes, as a server that is slow to let in does."""
        self._delay = seconds

    def slow_down(self, bytes_per_second: int) -> None:
        """Pass what clients send on at this rate from now on, as a narrow line does."""
        self._pace.bytes_per_second = bytes_per_second

    def release(self) -> None:
        """Pass on all that was held back, in order."""
        self._run(self._set_held(set()))

    def freeze_at(self, number: int, passes: Callable[[bytes], int] = half) -> threading.Event:
        """Let a part of what is the so-many-th that clients send pass, then nothing more either way, until `release`.

        That is what a server sees of a process that is stopped inside of a statement, or of a network that has gone
        dark. `passes` says how many of these bytes are still passed on. The event is set when it has happened; `sent`
        counts on.
        """
        return self._run(self._freeze_at(self._freezing.sent + number, [], passes))

    def freeze_in(self, words: bytes, passes: Callable[[bytes], int] = half, times: int = 1) -> threading.Event:
        """Do the same in what clients send with these words in it for the so-many-th time."""
        return self._run(self._freeze_at(None, [words] * times, passes))

    @property
    def sent(self) -> int:
        """How often clients have sent something so far."""
        return self._freezing.sent

    def lose_commit(self, port: int) -> threading.Event:
        """Let the next COMMIT of a quiet connection reach the server and drop the connection before its answer.

        The event is set once the server has answered that it has committed.
        """
        return self._run(self._lose_commit(port))

    def _run(self, work: Coroutine[object, object, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(30)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            await asyncio.sleep(self._delay)
            to_server = await asyncio.open_connection(*self._address)
        except OSError:
            writer.transport.abort()
            self._tasks.discard(task)
            return
        link = _Link((reader, writer), to_server, self._held, self._sees, self._pace)
        link.names_another = self._as_a_pooler
        link.sends = self._sends
        self._links[link.port] = link
        try:
            await link.pass_on()
        finally:
            self._links.pop(link.port, None)
            self._tasks.discard(task)

    async def _freeze_at(self, at: int | None, words: list[bytes], passes: Callable[[bytes], int]) -> threading.Event:
        self._freezing.at, self._freezing.words, self._freezing.passes = at, words, passes
        self._freezing.happened.clear()
        return self._freezing.happened

    def _sees(self, data: bytes) -> int | None:
        """Take in what a client has sent; returns how much of it still passes if this is where everything freezes."""
        if not self._freezing.sees(data):
            return None
        self._held = set(Direction)
        for link in self._links.values():
            link.hold(self._held)
        self._freezing.happened.set()
        return self._freezing.passes(data)

    def _sends(self, link: _Link, data: bytes) -> bool:
        """Take in what one client has sent; returns whether it goes dark in the middle of that."""
        return self._dark_behind is not None and self._dark_behind.sees(link.port, data)

    async def _cut(self, ports: Collection[int] | None) -> int:
        links = [link for port, link in self._links.items() if ports is None or port in ports]
        for link in links:
            link.abort()
        return len(links)

    async def _set_held(self, held: set[Direction]) -> None:
        self._held = held
        for link in self._links.values():
            link.hold(held)

    async def _hold_link(self, port: int, held: Collection[Direction]) -> None:
        self._links[port].hold(held)

    async def _lose_commit(self, port: int) -> threading.Event:
        return self._links[port].lose_commit()

    async def _close(self) -> None:
        assert self._server is not None
        self._server.close()
        await self._set_held(set())
        await self._cut(None)
        await asyncio.gather(*self._tasks)


@dataclass
class _Freezing:
    """How much has been sent, and at what everything freezes."""

    sent: int = 0
    at: int | None = None
    words: list[bytes] = field(default_factory=list)
    passes: Callable[[bytes], int] = half
    happened: threading.Event = field(default_factory=threading.Event)

    def sees(self, data: bytes) -> bool:
        self.sent += 1
        if not self.words or self.words[-1] not in data:
            return self.sent == self.at
        self.words.pop()
        return not self.words


@dataclass
class _DarkBehind:
    """Finds the connection that goes dark, once."""

    words: bytes
    port: int | None = None
    happened: threading.Event = field(default_factory=threading.Event)

    def sees(self, port: int, data: bytes) -> bool:
        if self.port is None and self.words in data:
            self.port = port
        elif self.port == port and not self.happened.is_set():
            self.happened.set()
            return True
        return False


@dataclass
class _Pace:
    """How fast bytes go to the server."""

    bytes_per_second: int | None = None

    async def keep(self, count: int) -> None:
        if self.bytes_per_second is not None:
            await asyncio.sleep(count / self.bytes_per_second)


class _Link:
    """One client's connection and the one to the server that goes with it; lives in the proxy's loop."""

    def __init__(
        self,
        client: tuple[asyncio.StreamReader, asyncio.StreamWriter],
        server: tuple[asyncio.StreamReader, asyncio.StreamWriter],
        held: Collection[Direction],
        sees: Callable[[bytes], int | None],
        pace: _Pace,
    ) -> None:
        self._sees = sees
        self._pace = pace
        self._client, self._server = client, server
        self.port: int = server[1].get_extra_info("sockname")[1]
        self._open = {direction: asyncio.Event() for direction in Direction}
        self._loss: _LostCommit | None = None
        self.names_another = False
        self.sends: Callable[[_Link, bytes], bool] = lambda *_: False
        self.hold(held)

    async def pass_on(self) -> None:
        """Pass bytes on both ways until either side ends."""
        (client_in, client_out), (server_in, server_out) = self._client, self._server
        there = asyncio.create_task(self._pump(client_in, server_out, Direction.TO_SERVER))
        back = asyncio.create_task(self._pump(server_in, client_out, Direction.TO_CLIENT))
        try:
            await asyncio.wait([there, back], return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (there, back):
                task.cancel()
            await asyncio.gather(there, back, return_exceptions=True)
            for writer in (client_out, server_out):
                writer.close()

    def hold(self, held: Collection[Direction]) -> None:
        for direction, gate in self._open.items():
            if direction in held:
                gate.clear()
            else:
                gate.set()

    def abort(self) -> None:
        for _, writer in (self._client, self._server):
            writer.transport.abort()

    def lose_commit(self) -> threading.Event:
        self._loss = _LostCommit()
        return self._loss.happened

    async def _pump(self, source: asyncio.StreamReader, target: asyncio.StreamWriter, direction: Direction) -> None:
        with contextlib.suppress(ConnectionError):
            while data := await source.read(_CHUNK):
                if self._loss is not None and self._loss.sees(direction, data):
                    self.abort()
                    return
                if direction is Direction.TO_CLIENT and self.names_another:
                    data = _BACKEND.sub(lambda found: found[1] + bytes((0, 0, 0, 7)) + found[2], data)
                if direction is Direction.TO_SERVER and self._open[direction].is_set():
                    passes = self._sees(data)
                    if passes is not None:
                        target.write(data[:passes])
                        data = data[passes:]
                if direction is Direction.TO_SERVER and self.sends(self, data):
                    target.write(data[: len(data) // 2])
                    data = data[len(data) // 2 :]
                    self.hold(set(Direction))
                if direction is Direction.TO_SERVER:
                    await self._pace.keep(len(data))
                await self._open[direction].wait()
                if self._loss is None or direction is Direction.TO_SERVER or not self._loss.withholds:
                    target.write(data)
                    await target.drain()


class _LostCommit:
    """Watches a quiet connection for its COMMIT, then for the server's word that it is done."""

    def __init__(self) -> None:
        self.happened = threading.Event()
        self.withholds = False
        self._read: dict[Direction, _Messages] = {direction: _Messages() for direction in Direction}

    def sees(self, direction: Direction, data: bytes) -> bool:
        """Take in what passes; returns whether the server has committed just now."""
        for kind, start in self._read[direction].feed(data):
            if direction is Direction.TO_SERVER and kind in b"QP" and b"COMMIT" in start.upper():
                self.withholds = True
            elif direction is Direction.TO_CLIENT and self.withholds and kind in b"C" and start.startswith(b"COMMIT"):
                self.happened.set()
        return self.happened.is_set()


class _Messages:
    """Cuts a stream of the protocol into messages: a byte for its kind, four for its length, its text."""

    def __init__(self) -> None:
        self._rest = bytearray()

    def feed(self, data: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Yield the kind of every message that is whole by now and how it starts."""
        self._rest += data
        while len(self._rest) >= _HEADER:
            size = 1 + int.from_bytes(self._rest[1:_HEADER], "big")
            if len(self._rest) < size:
                return
            yield bytes(self._rest[:1]), bytes(self._rest[_HEADER : min(size, _SHOWN)])
            del self._rest[:size]


def _address(dsn: str) -> tuple[str, int]:
    parts = urlsplit(dsn)
    assert parts.hostname is not None
    return parts.hostname, parts.port or 5432
