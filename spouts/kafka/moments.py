"""Moments on their way to Kafka, which knows whole milliseconds since 1970 and takes what is below for words."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND: Final = timedelta(milliseconds=1)


def milliseconds_from(moment: datetime) -> int | None:
    """Return the first millisecond that is not before a moment; None where that is every one.

    None is for all up to 1970, where no record is older: -1, -2 and -3 mean the latest record, the earliest and the
    one with the highest timestamp to a broker. Reckoned in whole numbers: a float rounds, and has no year 1 or 9999
    in each time zone.
    """
    first = -((_EPOCH - moment) // _MILLISECOND)
    return first if first > 0 else None
