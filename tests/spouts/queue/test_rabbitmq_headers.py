"""Each value of a header is read as it was sent, also where the client would fail and lose its connection."""

from __future__ import annotations

import math
import struct
from datetime import UTC, datetime
from importlib import import_module

import pytest

from trident.spouts.queue.rabbitmq.headers import read_all_headers

CLIENT = import_module("pika.data")
IN_MILLISECONDS = 1_796_012_198_682


def decoded(*values: bytes) -> list[object]:
    """Return the values of a table of such fields, a list with the same among them."""
    read_all_headers()
    inner = b"".join(values)
    fields = [*values, b"A" + struct.pack(">I", len(inner)) + inner]
    pairs = b"".join(bytes([1]) + bytes([97 + number]) + value for number, value in enumerate(fields))
    table, end = CLIENT.decode_table(struct.pack(">I", len(pairs)) + pairs, 0)
    assert end == 4 + len(pairs)
    found: list[object]
    *found, listed = table.values()
    assert repr(listed) == repr(found)
    return found


def test_a_moment_that_no_clock_shows_is_its_number() -> None:
    seconds = 1_796_012_198
    for number in (0, seconds):
        assert decoded(struct.pack(">cQ", b"T", number)) == [datetime.fromtimestamp(number, UTC)]
    for number in (253_402_300_800, IN_MILLISECONDS * 1_000, 2**64 - 1):
        assert decoded(struct.pack(">cQ", b"T", number)) == [number]


@pytest.mark.parametrize("value", [0.5, -1.75, math.inf, -math.inf, math.nan])
def test_a_fraction_is_none_that_was_cut(value: float) -> None:
    found = decoded(struct.pack(">cd", b"d", value), struct.pack(">cf", b"f", value))
    assert found == pytest.approx([value, value], nan_ok=True)


def test_all_else_is_read_as_before_and_the_client_is_taught_once() -> None:
    assert decoded(b"t\1", struct.pack(">cI", b"S", 2) + b"ab") == [True, "ab"]
    taught = CLIENT.decode_value
    read_all_headers()
    assert CLIENT.decode_value is taught
