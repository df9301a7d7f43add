"""What a user's spout raises, as a stop that says where it was and never what it says: that may hold a row."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from trident.base.errors import FatalError, TridentError
from trident.base.user_code import type_and_place


@contextmanager
def in_spout(stream: str, what: str, stays: str) -> Iterator[None]:
    """Run a call of a user's; raises `FatalError` for what it raises, and says what `stays`; ours go by as they are."""
    try:
        yield
    except TridentError:
        raise  # its text is meant to be read
    except Exception as error:  # noqa: BLE001 - users' code
        told = FatalError(
            f"stream {stream!r}: {what} raised {type_and_place(error)}. {stays}. Mend it and start again; what may "
            "pass by itself is to be raised as RetryableError"
        )
        told.place, told.raised = f"stream {stream!r}", type(error).__name__
        raise told from None
