"""How a person calls an operation: its verb, and what it was given."""

from __future__ import annotations

from typing import Final

from trident.operations.base import Operation, RecordOperation, Told

_LONGEST: Final = 200
"""Of what a step was given; an expression may be of any length."""


def called(operation: Operation | RecordOperation) -> str:
    """Return the verb and what it was given."""
    told = shortened(operation.told()) if isinstance(operation, Told) else ""
    return f"{operation.verb} {told}".rstrip()


def shortened(text: str) -> str:
    """Return a text in one line, cut where it is long."""
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"
