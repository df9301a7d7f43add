"""What of a run came again although it was done: how much, and when the log hears of it."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Final

from trident.spouts.queue.message import Message
from trident.spouts.queue.process.lasting import Doubling
from trident.spouts.queue.received import shown_id

_log = logging.getLogger("trident.coordinator")
_FIRST: Final = 1


class Redelivered:
    """Messages of a stream that were acked without effect, since they are done; for one thread, `count` for any.

    The log hears of the first one, and whenever there are twice as many. At WARNING of those that their source gives
    for the first time, as it says: somebody has sent them again, or two messages share an id.
    """

    def __init__(self, stream: str) -> None:
        self._stream = stream
        self._count = 0
        self._sent = 0
        self._telling = Doubling(_FIRST)
        self._warning = Doubling(_FIRST)

    @property
    def count(self) -> int:
        """How many there were."""
        return self._count

    def add(self, messages: Sequence[Message]) -> None:
        """Hear of some of them."""
        sent = [message for message in messages if message.is_redelivered is False]
        self._count += len(messages)
        self._sent += len(sent)
        if sent and self._warning.is_due(self._sent):
            _log.warning(
                "stream %r: %d messages of this run have ids of messages that are done (the last one %s), and their "
                "source says that it gives them for the first time. They were acked and not applied: right for what a "
                "sender has sent once more; what is new and has the id and the body of another message is in no "
                "result. Give each message an id of its own",
                self._stream,
                self._sent,
                shown_id(sent[-1].id or ""),
            )
        if messages and self._telling.is_due(self._count):
            _log.info(
                "stream %r: %d messages of this run came again although they are done (the last one %s): they were "
                "acked and not applied again",
                self._stream,
                self._count,
                shown_id(messages[-1].id or ""),
            )

    def tell_all(self) -> None:
        """Say how many there were in all."""
        if self._count:
            _log.info(
                "stream %r: in all %d messages of the run came again although they were done, and were not applied "
                "again",
                self._stream,
                self._count,
            )
