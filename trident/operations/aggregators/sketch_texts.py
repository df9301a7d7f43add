"""What a sketch is kept as in a state: a JSON text, which every store holds and every database can look into."""

from __future__ import annotations

import json
from collections.abc import Mapping

from trident.base.errors import RefusedError
from trident.state.layout import Value


def parts_of(text: Value, number: str, many: str) -> tuple[int, list[object], Mapping[str, object]]:
    """Return a number, an array and all of the object that a text says; raises RefusedError for any other text."""
    try:
        found = json.loads(text) if isinstance(text, str) else None
    except ValueError:
        found = None
    if isinstance(found, dict):
        count, values = found.get(number), found.get(many)
        if type(count) is int and count > 0 and isinstance(values, list):
            return count, values, found
    raise no_sketch(number, many)


def no_sketch(number: str, many: str) -> RefusedError:
    """Return the error for a text that this library has not written."""
    return RefusedError(
        f"a sketch in the state is no JSON object of a number {number!r} above zero and an array {many!r}: something "
        "else has changed it; the stored values are unchanged"
    )


def json_of(said: Mapping[str, object]) -> str:
    """Return its text, in the form in which Spark writes it."""
    return json.dumps(said, separators=(",", ":"))
