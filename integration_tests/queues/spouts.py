"""A spout as its process uses it: one thread calls it, and what it gives is acked or failed by id."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

from trident.spouts.queue.acking import AckingSpout, SpoutContext
from trident.spouts.queue.message import Message

S = TypeVar("S", bound=AckingSpout)


@contextmanager
def opened(spout: S, instance: int = 1) -> Iterator[S]:
    """Open a spout and close it after the block."""
    spout.open(SpoutContext("in", instance))
    spout.activate()
    try:
        yield spout
    finally:
        spout.close()


def taken(spout: AckingSpout, count: int, seconds: float = 30) -> list[Message]:
    """Return so many messages; fails when there are fewer."""
    found: list[Message] = []
    deadline = time.monotonic() + seconds
    while len(found) < count:
        message = spout.next_tuple()
        if message is not None:
            found.append(message)
        else:
            assert time.monotonic() < deadline, f"{len(found)} of {count} messages"
            time.sleep(0.002)
    return found


def none_within(spout: AckingSpout, seconds: float = 0.3) -> bool:
    """Tell whether there is no message for so long."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if spout.next_tuple() is not None:
            return False
        time.sleep(0.01)
    return True


def ids(messages: list[Message]) -> list[str | None]:
    return [message.id for message in messages]


def acked_by_a_process_that_is_killed(made: str, seconds: float) -> list[str]:
    """Have a process take messages and ack each, kill it so long after it was open, and return the ids it has taken."""
    code = textwrap.dedent(
        f"""
        import time
        from trident.spouts.queue.acking import SpoutContext
        spout = {made}
        spout.open(SpoutContext("in", 1))
        spout.activate()
        print("open", flush=True)
        while True:
            message = spout.next_tuple()
            if message is None:
                time.sleep(0.001)
                continue
            print(message.id, flush=True)
            spout.ack(message.id)
        """
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "open\n"
        time.sleep(seconds)
        process.send_signal(signal.SIGKILL)
        said = process.stdout.read()
    return [line for line in said.split("\n")[:-1] if line]  # the last one may be cut


def taken_by_a_process_that_is_killed(made: str, count: int) -> None:
    """Have a process of its own take so many messages of the spout that an expression makes, ack none, and die."""
    code = textwrap.dedent(
        f"""
        import time
        from integration_tests.queues.spouts import taken
        from trident.spouts.queue.acking import SpoutContext
        spout = {made}
        spout.open(SpoutContext("in", 1))
        spout.activate()
        taken(spout, {count})
        print("taken", flush=True)
        time.sleep(600)
        """
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "taken\n"
        process.send_signal(signal.SIGKILL)
