"""Moments as a broker is asked for them: never a number below zero, never one before the moment."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone, tzinfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trident.base.errors import ConfigurationError
from trident.managing.resets import _start_text
from trident.spouts import OpaqueKafkaSpout
from trident.spouts.kafka.moments import milliseconds_from

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
EAST, WEST = (timezone(timedelta(hours=sign * 23, minutes=sign * 59)) for sign in (1, -1))
BEFORE_ALL = (
    *(EPOCH - timedelta(milliseconds=number) for number in range(6)),
    EPOCH - timedelta(microseconds=1),
    datetime(1970, 1, 1, tzinfo=timezone(timedelta(hours=1))),
    *(datetime.min.replace(tzinfo=zone) for zone in (UTC, EAST, WEST)),
)
BEHIND_ALL = tuple(datetime.max.replace(tzinfo=zone) for zone in (EAST, WEST))


@pytest.mark.parametrize("moment", BEFORE_ALL, ids=str)
def test_what_is_not_behind_1970_is_the_earliest(moment: datetime) -> None:
    """-1, -2 and -3 are words of Kafka's, and no other number below zero is anything to its client."""
    assert milliseconds_from(moment) is None


def test_a_part_of_a_millisecond_counts_as_a_whole_one() -> None:
    """A record of the millisecond itself lies before the start; a float of today has no microseconds to tell."""
    noon = datetime(2026, 10, 9, 8, 53, 20, tzinfo=UTC)
    wanted = 1_791_536_000_000
    assert milliseconds_from(noon) == wanted
    assert [milliseconds_from(noon + timedelta(microseconds=each)) for each in (1, 500, 999, 1000, 1001)] == [
        *(wanted + 1,) * 4,
        wanted + 2,
    ]
    assert milliseconds_from(EPOCH + timedelta(microseconds=1)) == 1


@pytest.mark.parametrize("zone", [UTC, EAST, WEST], ids=str)
def test_the_last_moment_of_every_zone_is_a_number(zone: timezone) -> None:
    wanted = 253_402_300_800_000 - zone.utcoffset(None) // timedelta(milliseconds=1)
    assert milliseconds_from(datetime.max.replace(tzinfo=zone)) == wanted


@given(st.datetimes(timezones=st.sampled_from([UTC, EAST, WEST])))
def test_it_is_the_first_millisecond_that_is_not_before(moment: datetime) -> None:
    found = milliseconds_from(moment) or 0
    assert found >= 0
    since = max(moment - EPOCH, timedelta(0))
    assert timedelta(0) <= timedelta(milliseconds=found) - since < timedelta(milliseconds=1)


@pytest.mark.parametrize(
    "moment", [*BEFORE_ALL, *(datetime.max.replace(tzinfo=zone) for zone in (EAST, WEST))], ids=str
)
def test_a_reset_stores_a_moment_of_every_year_and_zone(moment: datetime) -> None:
    stored = _start_text(moment)
    assert stored is not None
    assert datetime.fromisoformat(stored) - moment == timedelta(0)


class Nowhere(tzinfo):
    """What `datetime` asks of a zone, with nothing to say."""

    def utcoffset(self, when: datetime | None) -> None:
        return None

    dst = tzname = utcoffset


def test_a_zone_that_says_no_offset_is_none() -> None:
    moment = datetime(2026, 1, 1, tzinfo=Nowhere())
    with pytest.raises(ConfigurationError, match="time zone"):
        OpaqueKafkaSpout("t", bootstrap_servers="h:1", start=moment)
    with pytest.raises(ConfigurationError, match="time zone"):
        _start_text(moment)
