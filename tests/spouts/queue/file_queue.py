"""A queue in a SQLite file, outside of every process, and a spout over it that can be told to misbehave."""

from __future__ import annotations

import os
import signal
import sqlite3
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from trident.base.errors import FatalError, RetryableError
from trident.spouts.queue.acking import AckingSpout, SpoutContext
from trident.spouts.queue.message import Message


class FileQueue:
    """Messages wait, are given to one consumer, and are acked, or given again: on a fail, or when another one comes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with self.connected() as connection:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.executescript(
                "CREATE TABLE IF NOT EXISTS message"
                " (n INTEGER PRIMARY KEY, id TEXT, body TEXT, consumer INTEGER, given INTEGER NOT NULL DEFAULT 0);"
                "CREATE TABLE IF NOT EXISTS said (n INTEGER PRIMARY KEY, word TEXT, id TEXT, pid INTEGER);"
            )

    def connected(self) -> sqlite3.Connection:
        return sqlite3.connect(self.path, timeout=30, isolation_level=None)

    def put(self, ids: Iterable[str | None]) -> None:
        with self.connected() as connection:
            connection.execute("BEGIN")
            connection.executemany("INSERT INTO message (id, body) VALUES (?, ?)", [(id_, id_) for id_ in ids])
            connection.execute("COMMIT")

    def said(self, word: str) -> list[str]:
        """Return the ids that the spouts heard a word of, in order; of `open`, which processes there were."""
        with self.connected() as connection:
            rows = connection.execute("SELECT id FROM said WHERE word = ? ORDER BY n", (word,))
            return [row[0] for row in rows]

    def pids(self) -> list[int]:
        with self.connected() as connection:
            return [row[0] for row in connection.execute("SELECT pid FROM said WHERE word = 'open' ORDER BY n")]

    def left(self) -> list[str]:
        """Return the ids of the messages that were not acked."""
        with self.connected() as connection:
            return [row[0] for row in connection.execute("SELECT id FROM message ORDER BY n")]


@dataclass(frozen=True)
class Misbehaviour:
    """What a spout does at its n-th message, counted in its process; once, if it is to be of the first process only."""

    at: int
    what: str
    instances: tuple[int, ...] = (1,)


class FileQueueSpout(AckingSpout):
    """Takes messages off a `FileQueue`; connects in `open`, so only its process does."""

    schema = "account string"
    max_batch_size = 5

    def __init__(self, path: Path, *misbehaves: Misbehaviour, loses_acks: bool = False) -> None:
        self.path = path
        self.misbehaves = misbehaves
        self.loses_acks = loses_acks

    def open(self, context: SpoutContext) -> None:
        self.queue = FileQueue(self.path)
        self.connection = self.queue.connected()
        self.instance = context.instance
        self.count = 0
        self.connection.execute("UPDATE message SET consumer = NULL WHERE consumer IS NOT NULL")
        self._say("open", context.stream)
        self._misbehave("open")

    def next_tuple(self) -> Message | None:
        query = "SELECT n, id, body, given FROM message WHERE consumer IS NULL ORDER BY n LIMIT 1"
        row = self.connection.execute(query).fetchone()
        if row is None:
            return None
        self.count += 1
        self._misbehave("next")
        self.connection.execute("UPDATE message SET consumer = ?, given = given + 1 WHERE n = ?", (os.getpid(), row[0]))
        return Message((row[2],), row[1], is_redelivered=row[3] > 0)

    def ack(self, id_: str | None) -> None:
        self._misbehave("ack")
        self._say("lost ack" if self.loses_acks else "ack", id_)
        if not self.loses_acks:
            self.connection.execute("DELETE FROM message WHERE id IS ? AND consumer = ?", (id_, os.getpid()))

    def fail(self, id_: str | None) -> None:
        self._say("fail", id_)
        self.connection.execute("UPDATE message SET consumer = NULL WHERE id IS ?", (id_,))

    def activate(self) -> None:
        self._say("activate", None)

    def deactivate(self) -> None:
        self._say("deactivate", None)

    def close(self) -> None:
        self._misbehave("close")
        self._say("close", None)
        self.connection.close()

    def _say(self, word: str, id_: str | None) -> None:
        self.connection.execute("INSERT INTO said (word, id, pid) VALUES (?, ?, ?)", (word, id_, os.getpid()))

    def _misbehave(self, where: str) -> None:
        for each in self.misbehaves:
            place, _, what = each.what.partition(" ")
            if place == where and each.at <= self.count and self.instance in each.instances:
                self._do(what)

    def _do(self, what: str) -> None:
        match what:
            case "dies":
                os.kill(os.getpid(), signal.SIGKILL)
            case "hangs":
                time.sleep(3_600)
            case "loses its connection":
                raise RetryableError("the queue's server has gone away")
            case "is refused":
                raise FatalError("the queue is not there")
            case "is wrong":
                raise KeyError("amount of 4711")


class LimitedQueueSpout(FileQueueSpout):
    """Its queue gives a message twice, and puts it aside then."""

    max_batch_size = 6

    def fail(self, id_: str | None) -> None:
        super().fail(id_)
        with self.connection as connection:
            connection.execute("DELETE FROM message WHERE id = ? AND given > 1", (id_,))
