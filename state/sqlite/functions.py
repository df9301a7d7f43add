"""Functions that SQLite lacks, registered on each connection: exact decimals and a digest's XOR."""

from __future__ import annotations

import sqlite3
from decimal import Decimal

from trident.state.comparing import added


def register(connection: sqlite3.Connection) -> None:
    """Make the functions known to one connection."""
    connection.create_function("trident_decimal_add", 4, _add, deterministic=True)
    connection.create_function("trident_decimal_less", 2, _less, deterministic=True)
    connection.create_aggregate("bit_xor", 1, _BitXor)


def _add(stored: str | None, staged: str | None, precision: int, scale: int) -> str | bytes | None:
    """Return the exact sum as text, or bytes, which the column's CHECK refuses, when it has too many digits."""
    if stored is None or staged is None:
        return None
    total = added(Decimal(stored), Decimal(staged))
    assert isinstance(total, Decimal)
    fits = total.copy_abs() < Decimal((0, (1,), precision - scale))  # abs() would round to the process's context
    return f"{total:.{scale}f}" if fits else b"overflow"


def _less(left: str | None, right: str | None) -> bool | None:
    if left is None or right is None:
        return None
    return Decimal(left) < Decimal(right)


class _BitXor:
    def __init__(self) -> None:
        self._value = 0

    def step(self, value: int | None) -> None:
        self._value ^= value or 0

    def finalize(self) -> int:
        return self._value
