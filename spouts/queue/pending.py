"""Messages that were received and are not done, as a log that lives as long as its process; and those that are: pure.

A message is known by its id, never by its position: a position that was only planned, and not done, may get another
message in a later process. What one and the same process holds moves up when something before it is failed.
"""

from __future__ import annotations

import itertools
import math
import secrets
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from trident.base.failure import Failure
from trident.spouts.queue.message import Message, Values

_NONE: Final[Mapping[str, str]] = {}
_UNNAMED: Final = "\0"
"""Before the made-up id of a message that has none: no source's id has it. No later process makes it up again."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """One time that a message was given: by which instance of the spout, and as which of its emissions."""

    instance: int
    serial: int


@dataclass(frozen=True, slots=True)
class GivenBack:
    """A delivery whose message is held no more and is in no result."""

    delivery: Delivery
    reason: Failure


class Known(StrEnum):
    """What is known of a message that is delivered."""

    NEW = "new"
    UNDER_WAY = "under_way"
    """It is held already: its source has given it again."""
    DONE = "done"
    """It is in every result, and remembered: its ack was lost."""
    OTHER = "other"
    """It is none of these: another message has its id, which is done or under way."""


@dataclass(slots=True)
class _Held:
    id: str
    values: Values | None = field(repr=False)
    """None: of a batch that was pinned by a process that has ended; it is applied from what was staged."""
    since: float
    deliveries: list[Delivery]
    digest: str = ""
    failed: Failure | None = None
    """Why it is to be given back before its batch is planned again."""


class PendingMessages:
    """What a stream of messages holds at which position; not safe between threads.

    Positions begin where all that is done ends. `done` and `pinned` are the ids of what is, each with the digest of its
    message, empty where it is not known: `done` oldest first. The last batch is remembered whatever the horizon: no
    plan has an id that the one before it has.
    """

    def __init__(
        self,
        first: int = 0,
        *,
        done: Mapping[str, str] = _NONE,
        pinned: Mapping[str, str] = _NONE,
        horizon: int = 100_000,
    ) -> None:
        self._first = first
        self._horizon = horizon
        self._done = OrderedDict(done)  # its oldest goes at once; a dict's is searched
        self._held = [_Held(id_, None, 0.0, [], digest) for id_, digest in pinned.items()]
        self._by_id = {item.id: item for item in self._held}
        self._planned: list[tuple[int, int]] = []
        self._at = first
        self._only: tuple[int, int] | None = None
        self._is_spared = False
        """Whether the attempt that is planned again has failed for messages of others."""
        self._unnamed = 0
        self._life = secrets.token_hex(4)

    @property
    def first(self) -> int:
        """The position of the oldest message that is held; of the next one, when none is."""
        return self._first

    @property
    def stop(self) -> int:
        """The position behind the last message."""
        return self._first + len(self._held)

    @property
    def planned_to(self) -> int:
        """The position up to which the plan may go that begins where `plan_from` has said."""
        return self._only[1] if self._only is not None and self.is_closed else self.stop

    @property
    def is_closed(self) -> bool:
        """Whether that plan is to have nothing but what a batch had from which messages were given back.

        Those may be here again at once, and would fail each attempt: so it stays until the batch is done.
        """
        return self._only is not None and self._only[0] == self._at

    @property
    def remembered(self) -> int:
        """How many ids of done messages are remembered."""
        return len(self._done)

    @property
    def remembers_all(self) -> bool:
        """Whether no message was ever done whose id is forgotten by now: each had a position."""
        return len(self._done) >= self._first

    def known(self) -> tuple[str, ...]:
        """Return the ids that are remembered and those that are held, in the order in which they are done."""
        return (*self._done, *(item.id for item in self._held if not item.id.startswith(_UNNAMED)))

    def undecided(self) -> tuple[str, ...]:
        """Return which of these may still be given back: all that is held, but of a batch that was pinned before."""
        return tuple(item.id for item in self._held if item.values is not None and not item.id.startswith(_UNNAMED))

    def add(self, message: Message, delivery: Delivery, now: float) -> Known:
        """Hear of a delivery; a message that is new is put behind all others.

        Of one that is done the delivery is to be acked at once; of one that is under way with the others. Of another
        message with the id of one of these nothing is kept, and its delivery must not be acked.
        """
        if message.id is not None and (digest := self._done.get(message.id)) is not None:
            return Known.DONE if _may_be(message, digest) else Known.OTHER
        known = self._by_id.get(message.id) if message.id is not None else None
        if known is not None:
            if not _may_be(message, known.digest):
                return Known.OTHER
            known.deliveries.append(delivery)
            return Known.UNDER_WAY
        id_ = self._named(message)
        item = _Held(id_, message.values, now, [delivery], message.digest)
        self._held.append(item)
        self._by_id[id_] = item
        return Known.NEW

    def plan(self, start: int, stop: int) -> None:
        """Hear that a range is a batch's by now."""
        self._planned = [*(each for each in self._planned if each[0] < start), (start, stop)]

    def fail(self, reasons: Mapping[str, Failure]) -> None:
        """Hear of messages, by their ids, that can't be in their batch: it is planned again without them.

        Of none where the attempt has failed for messages of another stream.
        """
        if not reasons:
            self._is_spared = True
        for id_, reason in reasons.items():
            if (item := self._by_id.get(id_)) is not None:
                item.failed = reason

    def plan_from(self, position: int, oldest: float) -> tuple[GivenBack, ...]:
        """Hear that a plan begins at a position; returns what is to be failed: it is held no more.

        If a batch was planned from there before, its attempt has failed. Of its messages those are failed which came
        before `oldest`; all others, and those of batches behind it, are planned again. Failed are also those that are
        by themselves, whatever batch they were in; of the batch they were in the next plan has all others, and no more,
        however long they have been here: beside a bad one they would else come again, as late, and fail with it again.
        """
        failed = next((stop for start, stop in self._planned if start == position), position)
        self._planned = [each for each in self._planned if each[0] < position]
        self._at = position
        if self._only is not None and position < self._only[0]:
            self._only = None  # what stands there is planned with others before it
        return self._let_go(position, failed, oldest)

    def between(self, start: int, stop: int) -> tuple[Values, ...] | None:
        """Return the values of a range; None where it is not held, or is of a process that has ended."""
        if not self._first <= start <= stop <= self.stop:
            return None
        found = [item.values for item in self._between(start, stop)]
        given = tuple(values for values in found if values is not None)
        return given if len(given) == len(found) else None

    def ids(self, start: int, stop: int) -> tuple[str, ...]:
        """Return the ids of a range that is held."""
        return tuple(item.id for item in self._between(start, stop))

    def digests(self, start: int, stop: int) -> tuple[str, ...]:
        """Return the digests of the messages of a range that is held, empty of one that is not known."""
        return tuple(item.digest for item in self._between(start, stop))

    def finish(self, stop: int) -> tuple[Delivery, ...]:
        """Hear that all before `stop` is done; returns the deliveries to ack. Their ids are remembered."""
        finished = self._between(self._first, max(stop, self._first))
        del self._held[: len(finished)]
        self._first += len(finished)
        named = {item.id: item.digest for item in finished if not item.id.startswith(_UNNAMED)}
        for item in finished:
            del self._by_id[item.id]
        self._done.update(named)
        self._planned = [each for each in self._planned if each[0] >= stop]
        if self._only is not None and self._only[0] < stop:
            self._only = None
        self._forget(len(named))
        return tuple(delivery for item in finished for delivery in item.deliveries)

    def give_back(self) -> tuple[Delivery, ...]:
        """Let go of all that is held; returns the deliveries to fail.

        Not those of the first batch: it may be pinned, and so in a result soon. Its source gives them again by itself.
        """
        first = next((stop for start, stop in self._planned if start == self._first), self._first)
        behind = self._between(first, self.stop)
        given = tuple(delivery for item in behind if item.values is not None for delivery in item.deliveries)
        self._held.clear()
        self._by_id.clear()
        self._planned.clear()
        return given

    def _let_go(self, start: int, stop: int, oldest: float) -> tuple[GivenBack, ...]:
        """Give back what is failed from a position on, and of the range that has failed what is too old."""
        before, range_, behind = (
            self._between(*each) for each in itertools.pairwise((self._first, start, stop, self.stop))
        )
        is_for_some = any(item.failed for item in range_)
        if range_ and (is_for_some or self._is_spared):
            oldest, self._is_spared = -math.inf, False
        reasons = [(item, self._reason(item, oldest)) for item in range_]
        reasons += [(item, item.failed) for item in behind]
        given = [(item, reason) for item, reason in reasons if reason is not None]
        for item, _ in given:
            del self._by_id[item.id]
        if range_ and (self.is_closed or is_for_some):
            left = sum(item.id in self._by_id for item in range_)
            self._only = (start, start + left) if left else None
        self._held = [*before, *(item for item, reason in reasons if reason is None)]
        return tuple(GivenBack(delivery, reason) for item, reason in given for delivery in item.deliveries)

    @staticmethod
    def _reason(item: _Held, oldest: float) -> Failure | None:
        is_late = item.values is not None and item.since < oldest
        return item.failed or (Failure.TIMED_OUT if is_late else None)

    def _between(self, start: int, stop: int) -> list[_Held]:
        return self._held[start - self._first : stop - self._first]

    def _named(self, message: Message) -> str:
        if message.id is not None:
            return message.id
        self._unnamed += 1
        return f"{_UNNAMED}{self._life}{self._unnamed}"

    def _forget(self, newest: int) -> None:
        while len(self._done) > max(self._horizon, newest):
            self._done.popitem(last=False)


def _may_be(message: Message, digest: str) -> bool:
    """Whether a message may be the one that has the digest: where one of the two is not known, nobody can tell."""
    return not digest or not message.digest or message.digest == digest
