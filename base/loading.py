"""Whether a command is loading a topology just now, to decide about it: then nothing of it may run.

A plain value of the process, so that a thread that a module starts while it is imported is held back as well.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from trident.base.errors import ConfigurationError

_why: str | None = None


@contextmanager
def only_loading(why_not: str) -> Iterator[None]:
    """Refuse every run meanwhile, in these words."""
    global _why
    before, _why = _why, why_not
    try:
        yield
    finally:
        _why = before


def refuse_while_loading() -> None:
    """Raise ConfigurationError while a topology is loaded."""
    if _why is not None:
        raise ConfigurationError(_why)
