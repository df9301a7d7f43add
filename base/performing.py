"""Performing a call in one thread for another one that holds its future."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

Brought = TypeVar("Brought")


def perform(call: Callable[[], Brought], future: Future[Brought]) -> None:
    """Let the future have what the call returns or raises, whatever that is."""
    try:
        result = call()
    except BaseException as error:  # noqa: BLE001 - whatever it is, it is the caller's
        future.set_exception(error)
    else:
        future.set_result(result)
    finally:
        del future  # an error's traceback holds this frame: without that the two would hold each other
