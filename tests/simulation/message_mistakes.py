"""What somebody might get wrong of messages with ids; `planted.py` plants it.

Each is what the product does but for one thing that is easily overlooked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from unittest.mock import patch

from trident.base.ranges import OffsetRange, PartitionId
from trident.spouts.queue import source as acking
from trident.spouts.queue.message import Message
from trident.spouts.queue.pending import Delivery, Known, PendingMessages
from trident.spouts.queue.source import AckingSource

_ADD, _PLANNED, _BEGIN_FROM = PendingMessages.add, AckingSource.planned, AckingSource.begin_from


def reads_what_is_done(pending: PendingMessages, message: Message, delivery: Delivery, now: float) -> Known:
    """Hold a message whose ack was lost as a new one."""
    if message.id is not None:
        pending._done.pop(message.id, None)
    return _ADD(pending, message, delivery, now)


def acks_what_is_planned(source: AckingSource, range_: OffsetRange) -> None:
    """Have a message acked once it is in a plan, which is durable."""
    _PLANNED(source, range_)
    held = source._pending._between(range_.start, range_.stop)
    source._ack([delivery for item in held for delivery in item.deliveries])


def begins_without_the_pinned(
    source: AckingSource, positions: Mapping[PartitionId, int], done: Mapping[str, str], pinned: Mapping[str, str]
) -> None:
    """Know what is done, and not what will be without a plan of this process."""
    _BEGIN_FROM(source, positions, done, {})


def begins_without_the_done(
    source: AckingSource, positions: Mapping[PartitionId, int], done: Mapping[str, str], pinned: Mapping[str, str]
) -> None:
    """Know only what this process has done itself."""
    _BEGIN_FROM(source, positions, {}, pinned)


def gives_all_back(pending: PendingMessages) -> tuple[Delivery, ...]:
    """Fail the first batch as well when a run ends, whether it is pinned or not."""
    given = tuple(delivery for item in pending._held for delivery in item.deliveries)
    pending._held.clear()
    pending._by_id.clear()
    return given


@contextmanager
def tells_whichever_process_is_there() -> Iterator[None]:
    """Pass an ack or a fail on to the process of the spout that runs now, by a number that another one had given."""
    with patch.object(acking, "_serials", lambda deliveries, _: tuple(each.serial for each in deliveries)):
        yield
