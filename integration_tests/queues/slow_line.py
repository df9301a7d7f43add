"""A line to a server that takes its time: bytes come later, or one after the other."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

_CHUNK = 1 << 14


@dataclass(frozen=True)
class Line:
    """What a line is like, each way."""

    delay_s: float = 0.0
    bytes_per_s: float = float("inf")

    async def carry(self, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        """Carry bytes up to the end of one side."""
        under_way: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()
        sending = asyncio.create_task(self._deliver(under_way, target))
        now = asyncio.get_running_loop().time
        with suppress(ConnectionError):
            while data := await source.read(_CHUNK):
                await asyncio.sleep(len(data) / self.bytes_per_s)
                under_way.put_nowait((now() + self.delay_s, data))
        under_way.put_nowait((now() + self.delay_s, b""))
        await sending

    @staticmethod
    async def _deliver(under_way: asyncio.Queue[tuple[float, bytes]], target: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            while True:
                due, data = await under_way.get()
                await asyncio.sleep(due - asyncio.get_running_loop().time())
                if not data:
                    target.close()
                    return
                target.write(data)
                await target.drain()


@contextmanager
def through(line: Line, port: int) -> Iterator[int]:
    """Yield a port of this machine behind which the line leads to another one."""
    loop = asyncio.new_event_loop()
    ready: list[asyncio.Server] = []
    has_begun = threading.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        theirs, ours = await asyncio.open_connection("127.0.0.1", port)
        await asyncio.gather(line.carry(reader, ours), line.carry(theirs, writer))

    async def begin() -> None:
        ready.append(await asyncio.start_server(serve, "127.0.0.1", 0))
        has_begun.set()

    def run() -> None:
        loop.run_until_complete(begin())
        loop.run_forever()
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.run_until_complete(asyncio.sleep(0))
        loop.close()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    assert has_begun.wait(10)
    try:
        yield ready[0].sockets[0].getsockname()[1]
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
