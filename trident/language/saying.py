"""Whose step was refused: every error about a step on streams begins with their names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from trident.base.errors import ConfigurationError, FieldError


def streams_called(names: Sequence[str]) -> str:
    """Return how an error about streams of these names begins; those without one are left out."""
    known = list(dict.fromkeys(name for name in names if name))
    if not known:
        return ""
    return f"stream{'s' if len(known) > 1 else ''} {', '.join(map(repr, known))}: "


@contextmanager
def about(*names: str) -> Iterator[None]:
    """Put the names of streams before what is refused meanwhile."""
    said = streams_called(names)
    try:
        yield
    except FieldError as error:
        raise FieldError(f"{said}{error.problem}", error.field, error.known) from None
    except ConfigurationError as error:
        raise ConfigurationError(f"{said}{error}") from None
