"""What happens when a server can't be had: a skip with its reason, a failure under --require-servers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TypeVar

import pytest

from trident.base.errors import FatalError

S = TypeVar("S")


@contextmanager
def or_skip(config: pytest.Config, start: Callable[[], AbstractContextManager[S]]) -> Iterator[S]:
    """Start a server and end it after the block; only a failed *start* is a reason to skip."""
    manager = start()
    try:
        server = manager.__enter__()
    except FatalError as error:
        if config.getoption("--require-servers"):
            raise
        pytest.skip(str(error))
    try:
        yield server
    finally:
        manager.__exit__(None, None, None)
