"""What drivers and Python workers tell the nemesis: the crash point that they have come to. They wait for its answer.

A process that waits for an answer can be looked at, paused or killed at exactly that point.
"""

from __future__ import annotations

import os
import socket
from contextlib import AbstractContextManager
from dataclasses import dataclass

import msgspec

from trident.base.crash_points import CrashPoint, armed

ADDRESS = "CHAOS_SWITCHBOARD"
"""The environment variable that names the nemesis' port; without it nothing is armed."""
READY = "about to take the lease"
FUNCTION_FAILS = "a user function fails"
FUNCTION_HANGS = "a user function hangs"

_armed: AbstractContextManager[None] | None = None


@dataclass(frozen=True, slots=True)
class Word:
    """Where a process is; txid 0 where it knows of none."""

    role: str
    pid: int
    point: str
    txid: int


def say(role: str, point: str, txid: int = 0) -> None:
    """Tell the nemesis and wait until it lets this process go on; raises OSError when the nemesis is gone."""
    port = int(os.environ[ADDRESS])
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        connection.settimeout(None)
        connection.sendall(msgspec.json.encode(Word(role, os.getpid(), point, txid)) + b"\n")
        if not connection.recv(1):
            raise ConnectionResetError("the nemesis is gone")


def arm(role: str) -> None:
    """From now on this process, and what is forked from it, says every crash point that it reaches."""
    global _armed
    if ADDRESS not in os.environ:
        return

    def reached(point: CrashPoint, txid: int) -> None:
        if point is CrashPoint.SENDING:
            return  # a word for each record would take longer than the records
        say(role, point.name, txid)

    _armed = armed(reached)
    _armed.__enter__()
