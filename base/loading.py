"""Whether a command is loading a topology just now, to decide about it: then nothing of it may run or decide.

A plain value of the process, so that a thread that a module starts while it is imported is held back as well.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from trident.base.errors import ConfigurationError

_loaded: tuple[str, str] | None = None


@contextmanager
def only_loading(place: str, when: str) -> Iterator[None]:
    """Refuse meanwhile what `refuse_while_loading` is asked about, as done by that place."""
    global _loaded
    before, _loaded = _loaded, (place, when)
    try:
        yield
    finally:
        _loaded = before


def refuse_while_loading(what: str) -> None:
    """Raise ConfigurationError while a topology is loaded: who loads it says what is done with it."""
    if _loaded is not None:
        place, when = _loaded
        raise ConfigurationError(
            f"{place} {what} {when}: put that under `if __name__ == '__main__':`; nothing was decided"
        )
