"""Giving back what a run held: nothing that goes wrong then hides why the run ended."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from trident.base.errors import TridentError

_log = logging.getLogger("trident.coordinator")


@contextmanager
def giving_back(what: str, give_back: Callable[[], object]) -> Iterator[None]:
    """Call `give_back` at the end of the block, whatever ended it; the error that ended it is the one that is raised.

    After a block that ended well a `TridentError` of `give_back` is logged and ends nothing: what is durable is
    durable, a lease ends by itself and connections end with their process. Any other error is a mistake in
    somebody's code and is raised, since nobody else would hear of it.
    """
    try:
        yield
    except BaseException:
        after_error(what, give_back)
        raise
    try:
        give_back()
    except TridentError as error:
        _warn(what, error)


def after_error(what: str, action: Callable[[], object]) -> None:
    """Do what is left to do once an error has ended something; the caller raises that one, a second is logged."""
    try:
        action()
    except TridentError as error:
        _warn(what, error)
    except Exception:  # noqa: BLE001 - the caller is about to raise the error that came first
        _log.exception("%s failed as well; raised is what failed first", what)


def _warn(what: str, error: TridentError) -> None:
    _log.warning("%s failed: %s; nothing is lost by that", what, error)
