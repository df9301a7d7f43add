"""What was posted and is waited for: handed from the threads of a server to the spout's, and the answers back."""

from __future__ import annotations

import hashlib
import threading
from collections import deque
from dataclasses import dataclass, field
from enum import StrEnum

from trident.spouts.queue.message import Message


class Answer(StrEnum):
    """What becomes of a request."""

    DONE = "done"
    """The message is in every result."""
    FAILED = "failed"
    """It is in none, and the sender has to send it again."""
    LATE = "late"
    """Nobody knows yet: it may still be done. Sent again, it counts once."""
    FULL = "full"
    CLOSED = "closed"
    """Nobody takes messages now."""
    OTHER = "other"
    """Another message with this id is under way, or done and remembered: so says who knows what is done."""
    UNCLEAR = "unclear"
    """Another message with this id waits here; which of the two is refused is not known yet."""


@dataclass(slots=True)
class _Post:
    message: Message
    digest: bytes
    is_settled: threading.Event = field(default_factory=threading.Event)
    answer: Answer = Answer.LATE


class PushDesk:
    """Messages by id, from when they were posted until they are acked or failed; safe between threads.

    One that is posted again meanwhile is not emitted again: who posted it waits for the same answer.
    """

    def __init__(self, max_pending: int) -> None:
        self._max_pending = max_pending
        self._lock = threading.Lock()
        self._left = threading.Condition(self._lock)
        self._posts: dict[str, _Post] = {}
        self._new: deque[_Post] = deque()
        self._is_open = False
        self._waiting = 0

    def set_open(self, is_open: bool) -> None:
        """Say whether messages are taken; what is under way stays so."""
        with self._lock:
            self._is_open = is_open

    def post(self, message: Message, body: bytes, wait_s: float) -> Answer:
        """Put a message in line, and wait so long for what becomes of it."""
        digest = hashlib.blake2b(body).digest()
        with self._lock:
            found = self._joined(message, digest)
            if isinstance(found, Answer):
                return found
            self._waiting += 1
        found.is_settled.wait(wait_s)
        with self._lock:
            self._waiting -= 1
            self._left.notify_all()
            return found.answer

    def take(self) -> Message | None:
        """Return the message that was posted first of those that were not taken; None when there is none."""
        with self._lock:
            return self._new.popleft().message if self._new else None

    def settle(self, id_: str, answer: Answer) -> None:
        """Answer all who wait for a message; one that nobody has posted says nothing."""
        with self._lock:
            post = self._posts.pop(id_, None)
            if post is not None:
                post.answer = answer
                post.is_settled.set()

    def end(self, patience_s: float) -> None:
        """Take nothing more and answer everybody that their message failed; waits so long until they were told."""
        with self._lock:
            self._is_open = False
            self._new.clear()
            for post in self._posts.values():
                post.answer = Answer.FAILED
                post.is_settled.set()
            self._posts.clear()
            self._left.wait_for(lambda: self._waiting == 0, patience_s)

    def _joined(self, message: Message, digest: bytes) -> _Post | Answer:
        assert message.id is not None
        known = self._posts.get(message.id)
        if known is not None:
            return known if known.digest == digest else Answer.UNCLEAR
        if not self._is_open:
            return Answer.CLOSED
        if len(self._posts) >= self._max_pending:
            return Answer.FULL
        post = self._posts[message.id] = _Post(message, digest)
        self._new.append(post)
        return post
