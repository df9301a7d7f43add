"""A TCP proxy in front of one Kafka broker that does to the ends of transactions what networks do.

It understands just enough of the protocol to tell one request from another: a length, the kind, a number that the
answer carries as well, and whose transaction it is of.
"""

from __future__ import annotations

import asyncio
import contextlib
import struct
import threading
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from enum import StrEnum
from types import TracebackType
from typing import Final, Self, TypeVar

T = TypeVar("T")
_LENGTH: Final = struct.Struct(">i")
_REQUEST: Final = struct.Struct(">hhi")
_CORRELATION: Final = struct.Struct(">i")
_TEXT: Final = struct.Struct(">h")
_PRODUCE: Final = 0
_END_TXN: Final = 26
_FLEXIBLE: Final = {_PRODUCE: 9, _END_TXN: 3}
"""The version from which on lengths are written as variable integers, behind one more field of the head."""


class Fate(StrEnum):
    """What becomes of the request that ends a transaction."""

    PASSED = "passed"
    """It is passed on, and so is its answer."""
    LOSE_REQUEST = "lose the request"
    """It never arrives, and the connection is cut."""
    LOSE_ANSWER = "lose the answer"
    """It arrives and takes effect; instead of its answer the connection is cut."""
    DELAY = "delay"
    """It arrives a while later, as does its answer."""
    LATE = "late"
    """It arrives when the next transaction of its id has begun to send. What the client sends meanwhile, this request
    once more on another connection, passes."""


Decide = Callable[[int], Fate]
"""Says what becomes of the so-many-th end of a transaction, counted from 1; called in the proxy's thread."""


def pass_all(_: int) -> Fate:
    """Do nothing to anybody."""
    return Fate.PASSED


class KafkaProxy:
    """Listens on a port of 127.0.0.1; use it as a context manager. Every method may be called from any thread.

    The broker has to name this port to its clients (`LocalKafka(proxy_port=…)`), else they go past it.
    """

    def __init__(self, *, delay_seconds: float = 2.0) -> None:
        self._delay = delay_seconds
        self._upstream = 0
        self._decide: Decide = pass_all
        self._ends = 0
        self._met: dict[Fate, int] = dict.fromkeys(Fate, 0)
        self._late: dict[str, list[_Held]] = {}
        """By transactional id."""
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="kafka-proxy", daemon=True)
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    def __enter__(self) -> Self:
        self._thread.start()
        self._server = self._run(asyncio.start_server(self._accept, "127.0.0.1", 0))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._run(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    @property
    def port(self) -> int:
        """Where it listens."""
        assert self._server is not None
        return int(self._server.sockets[0].getsockname()[1])

    @property
    def bootstrap_servers(self) -> str:
        """Address for clients."""
        return f"127.0.0.1:{self.port}"

    @property
    def met(self) -> dict[Fate, int]:
        """How many ends of transactions have met which fate."""
        return dict(self._met)

    def lead_to(self, port: int) -> None:
        """Pass on to the broker's listener at that port."""
        self._upstream = port

    def decide(self, fate: Decide) -> None:
        """Ask this function from now on."""
        self._decide = fate

    def deliver(self) -> int:
        """Pass on at once what is kept to come late; returns how many requests."""
        return self._run(self._deliver_all())

    def _run(self, work: Coroutine[object, object, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(30)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            await self._link(reader, writer)
        finally:
            self._tasks.discard(task)

    async def _link(self, client_reader: asyncio.StreamReader, client: asyncio.StreamWriter) -> None:
        try:
            broker_reader, broker = await asyncio.open_connection("127.0.0.1", self._upstream)
        except OSError:
            client.close()
            return
        link = _Link(client, broker)
        ways = [
            asyncio.create_task(self._requests(link, client_reader)),
            asyncio.create_task(self._answers(link, broker_reader)),
        ]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            if link.keeps_late:  # the client has gone, what it has sent is still on its way
                await link.delivered.wait()
        finally:
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
            link.cut()

    async def _requests(self, link: _Link, reader: asyncio.StreamReader) -> None:
        while True:
            frame = await _frame(reader)
            if frame is None:
                return
            kind, version, correlation = _REQUEST.unpack_from(frame, _LENGTH.size)
            if kind == _PRODUCE and self._late:
                await self._deliver(self._late.pop(_transactional_id(frame, kind, version), []))
            if kind == _END_TXN:
                self._ends += 1
                fate = self._decide(self._ends)
                self._met[fate] += 1
                if not await self._meets(link, fate, _Request(frame, version, correlation)):
                    continue
            await link.pass_on(frame)

    async def _meets(self, link: _Link, fate: Fate, request: _Request) -> bool:
        """Let a request meet its fate; returns whether it is to be passed on now."""
        match fate:
            case Fate.LOSE_REQUEST:
                link.cut()
                return False
            case Fate.LOSE_ANSWER:
                link.unanswered.add(request.correlation)
            case Fate.DELAY:
                await asyncio.sleep(self._delay)
            case Fate.LATE:
                link.keeps_late = True
                id_ = _transactional_id(request.frame, _END_TXN, request.version)
                self._late.setdefault(id_, []).append(_Held(link, request.frame))
                return False
            case Fate.PASSED:
                pass
        return True

    async def _answers(self, link: _Link, reader: asyncio.StreamReader) -> None:
        while True:
            frame = await _frame(reader)
            if frame is None:
                return
            (correlation,) = _CORRELATION.unpack_from(frame, _LENGTH.size)
            if correlation in link.unanswered:
                link.cut()
                return
            link.client.write(frame)
            with contextlib.suppress(ConnectionError):
                await link.client.drain()

    async def _deliver_all(self) -> int:
        late, self._late = self._late, {}
        return sum([await self._deliver(held) for held in late.values()])

    async def _deliver(self, held: list[_Held]) -> int:
        for each in held:
            await each.link.pass_on(each.frame)
            each.link.keeps_late = False
            # its answer goes nowhere; the broker is given a moment to read it before the connection ends
            self._loop.call_later(1.0, each.link.delivered.set)
        return len(held)

    async def _close(self) -> None:
        assert self._server is not None
        self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


@dataclass
class _Link:
    """A client's connection and the broker's."""

    client: asyncio.StreamWriter
    broker: asyncio.StreamWriter
    unanswered: set[int] = field(default_factory=set)
    keeps_late: bool = False
    delivered: asyncio.Event = field(default_factory=asyncio.Event)

    async def pass_on(self, frame: bytes) -> None:
        self.broker.write(frame)
        with contextlib.suppress(ConnectionError):
            await self.broker.drain()

    def cut(self) -> None:
        for writer in (self.client, self.broker):
            if not writer.transport.is_closing():
                writer.transport.abort()


@dataclass(frozen=True)
class _Request:
    """A request that ends a transaction."""

    frame: bytes
    version: int
    correlation: int


@dataclass
class _Held:
    """A request that is to come late, and where it was sent."""

    link: _Link
    frame: bytes


async def _frame(reader: asyncio.StreamReader) -> bytes | None:
    """Return a whole request or answer with its length; None at the end of the connection."""
    try:
        head = await reader.readexactly(_LENGTH.size)
        return head + await reader.readexactly(_LENGTH.unpack(head)[0])
    except (asyncio.IncompleteReadError, ConnectionError):
        return None


def _transactional_id(frame: bytes, kind: int, version: int) -> str:
    """Return whose transaction a request is of; in both kinds that is the first field, behind the client's name."""
    at = _LENGTH.size + _REQUEST.size
    (length,) = _TEXT.unpack_from(frame, at)
    at += _TEXT.size + max(length, 0)
    if version < _FLEXIBLE[kind]:
        (length,) = _TEXT.unpack_from(frame, at)
        at += _TEXT.size
    else:
        _, at = _unsigned(frame, at)  # tagged fields of the head, of which there are none
        length, at = _unsigned(frame, at)
        length -= 1
    return frame[at : at + max(length, 0)].decode()


def _unsigned(frame: bytes, at: int) -> tuple[int, int]:
    """Return an integer of seven bits a byte, and where it ends."""
    number = shift = 0
    while frame[at] & 0x80:
        number |= (frame[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
    return number | frame[at] << shift, at + 1
