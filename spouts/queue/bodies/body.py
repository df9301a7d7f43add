"""How a queue's message becomes the values of a stream's fields: as JSON, field by field, or as it is."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from decimal import Decimal
from typing import ClassVar, Final, NoReturn, Protocol

from trident.base.checks import check_able, check_text
from trident.base.errors import ConfigurationError
from trident.spouts.queue.bodies.ddl import DeclaredField, declared_fields, misspelt
from trident.spouts.queue.bodies.fitting import fields_of, texts_of
from trident.spouts.queue.message import Values
from trident.spouts.queue.received import Received, UnreadableError

_EXAMPLE: Final = "the fields of a message, say 'account string, amount bigint'"
_NESTED: Final = ("array", "map", "struct", "other")


class Body(Protocol):
    """How a message is decoded: an immutable description, pickled to the spout's process."""

    @property
    def schema(self) -> str:
        """The fields of the values, as Spark DDL."""

    def values(self, received: Received) -> Values:
        """Return the values by field; raises `UnreadableError`, whose text holds nothing that the sender wrote."""


@dataclass(frozen=True, slots=True)
class JsonBody:
    """Decode bodies as JSON objects: `JsonBody("account string, amount decimal(20,2)")`.

    A missing field is null, one that is not declared is left out. A value is held exactly or the message can't be
    read: no number is rounded but to a float's precision, none is made of a text. Dates and moments are texts in ISO's
    form (a `timestamp` with its zone), binary is base64. A field that is `NOT NULL` must have a value.
    """

    schema: str
    _fields: tuple[DeclaredField, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_fields", _checked_fields("JsonBody", self.schema))

    def values(self, received: Received) -> Values:
        """See `Body`."""
        if received.body is None:
            raise UnreadableError("it has no body")
        try:
            found = _JSON.decode(received.body.decode())
        except UnicodeDecodeError:
            raise UnreadableError("it is not UTF-8") from None
        except (ValueError, ArithmeticError, RecursionError):  # no JSON, or numbers and brackets without end
            raise UnreadableError("it is not JSON") from None
        if not isinstance(found, dict):
            raise UnreadableError("it is JSON, but no object")
        return fields_of(found, self._fields)


@dataclass(frozen=True, slots=True)
class FieldsBody:
    """Decode the fields of a Redis entry (or headers) by their names: `FieldsBody("account string, amount bigint")`.

    Each is UTF-8 text that says its value, or bytes where the field is binary; missing ones are null, others are left
    out. Arrays, maps and structures are refused: put JSON into one field, and decode that by `JsonBody`.
    """

    schema: str
    _fields: tuple[DeclaredField, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        fields = _checked_fields("FieldsBody", self.schema)
        nested = [each.name for each in fields if each.type.kind in _NESTED]
        if nested:
            raise ConfigurationError(
                f"FieldsBody: a text says no value of the type of {', '.join(nested)}; use JsonBody with one field "
                "that holds JSON. Nothing was started or changed"
            )
        object.__setattr__(self, "_fields", fields)

    def values(self, received: Received) -> Values:
        """See `Body`."""
        return texts_of(received.attributes, self._fields)


@dataclass(frozen=True, slots=True)
class RawBody:
    """Take messages as they are: id, source (queue, stream, topic or path), key, attributes (headers) and body."""

    schema: ClassVar[str] = "id string, source string, key binary, attributes map<string,binary>, body binary"

    def values(self, received: Received) -> Values:
        """See `Body`."""
        return (received.id, received.source, received.key, dict(received.attributes), received.body)


def checked_body(given: Body) -> Body:
    """Return how bodies are decoded; raises `ConfigurationError` for what is no such description."""
    allowed = "RawBody(), JsonBody('account string'), FieldsBody('account string') or one of your own"
    return check_able("body", given, ("values",), allowed, has=("schema",))


def _checked_fields(kind: str, schema: str) -> tuple[DeclaredField, ...]:
    fields = declared_fields(check_text("schema", schema, allowed=_EXAMPLE))
    found = misspelt(fields)
    if found is not None:
        raise ConfigurationError(
            f"{kind}: Spark has no type {found[0]!r}; did you mean {found[1]!r}? Nothing was started or changed"
        )
    return fields


def _refuse(_: str) -> NoReturn:
    raise ValueError  # NaN and Infinity are no JSON


_JSON: Final = json.JSONDecoder(parse_float=Decimal, parse_constant=_refuse)
"""Made once: `json.loads` makes one in each call that wants anything of it."""
