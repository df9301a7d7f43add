"""Headers that the client pika does not read as they were sent: moments that its clock can't hold, and fractions."""

from __future__ import annotations

import struct
from collections.abc import Callable
from datetime import UTC, datetime
from importlib import import_module
from typing import Final

_MOMENT: Final = b"T"
_FRACTIONS: Final = {b"f": struct.Struct(">f"), b"d": struct.Struct(">d")}
_UNSIGNED: Final = struct.Struct(">Q")
_Decode = Callable[[bytes, int], tuple[object, int]]


def decode_moment(encoded: bytes, at: int) -> tuple[object, int]:
    """Return a moment and where it ends: a number where it is none that a clock shows, as milliseconds are."""
    (seconds,) = _UNSIGNED.unpack_from(encoded, at)
    try:
        return datetime.fromtimestamp(seconds, UTC), at + _UNSIGNED.size
    except (ValueError, OverflowError, OSError):
        return seconds, at + _UNSIGNED.size


def read_all_headers() -> None:
    """Have the client read each value of a header, in this process; any number of times.

    It makes an integer of a fraction (pika 1.4), which fails for NaN and for an infinity, and it fails for a moment
    behind the year 9999. What it can't read breaks its connection, and all messages that came with that one go back
    into their queue, each one nearer to a limit of deliveries.
    """
    client = import_module("pika.data")
    if not isinstance(client.decode_value, _Lenient):
        client.__dict__["decode_value"] = _Lenient(client.decode_value)


class _Lenient:
    """What the client calls for each value, those inside of lists and tables too."""

    def __init__(self, rest: _Decode) -> None:
        self._rest = rest

    def __call__(self, encoded: bytes, at: int) -> tuple[object, int]:
        kind = encoded[at : at + 1]
        if kind == _MOMENT:
            return decode_moment(encoded, at + 1)
        if (fraction := _FRACTIONS.get(kind)) is not None:
            return fraction.unpack_from(encoded, at + 1)[0], at + 1 + fraction.size
        return self._rest(encoded, at)
