"""Trident's FirstN: an assembly for a stream, or for each of its groups."""

from __future__ import annotations

from dataclasses import dataclass

from trident.base.checks import check_count, check_flag, refused
from trident.base.errors import ConfigurationError
from trident.language.grouped import GroupedStream
from trident.language.stream import Stream
from trident.operations.base import check_field
from trident.operations.first_records import FirstRecords


@dataclass(frozen=True, slots=True)
class FirstN:
    """The first `n` records of a batch, or of each group of it, with all their fields: `apply_assembly(FirstN(3))`.

    As they come, in the order of topic, partition and offset; with `by` those that are least by a field, with
    `reverse` greatest (NaN is the greatest of numbers). Of records that are equal by it the first ones are taken; those
    in which it is null don't count. They are the same in every re-run, and stay records: sinks get them in their order.
    """

    n: int
    by: str | None = None
    reverse: bool = False

    def __post_init__(self) -> None:
        """Check what was given."""
        check_count("FirstN: n", self.n)
        if self.by is not None:
            check_field("FirstN: by", self.by)
        check_flag("FirstN: reverse", self.reverse)
        if self.reverse and self.by is None:
            raise ConfigurationError("FirstN: reverse needs by, the field whose greatest values come first")

    def __call__(self, stream: Stream | GroupedStream) -> Stream:
        """Return the stream of these records."""
        if isinstance(stream, GroupedStream):
            return stream.stream._onto(FirstRecords(self.n, self.by, self.reverse, stream.keys), keeps=True)
        if isinstance(stream, Stream):
            return stream._onto(FirstRecords(self.n, self.by, self.reverse), keeps=True)
        raise refused("FirstN: the stream", "a stream, or what group_by returns", stream)
