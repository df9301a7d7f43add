"""What a user's store has to offer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol, TypeAlias, runtime_checkable

from trident.state.folding import Row, StoredRow


@dataclass(frozen=True, slots=True)
class BackingPosition:
    """What a reserved key holds: where the state stands and which epoch may write it.

    `txid`, `attempt` and `birth_txid` are None until the state is registered. Another reserved key says whose map it
    is: its txid stays None, and its token is the state's name.
    """

    topology: str
    incarnation: str
    epoch: int
    token: str
    txid: int | None
    attempt: int | None
    birth_txid: int | None


# The module that it was in first: a store that pickles its values, and compares the bytes, has that name in them.
BackingPosition.__module__ = "trident.state.backing.maps"


@dataclass(frozen=True, slots=True)
class TimedPosition(BackingPosition):
    """The position of a state with `expire_after`; `at` is the batch time of the txid where it stands."""

    at: datetime


@dataclass(frozen=True, slots=True)
class TimedValue:
    """What a state with `expire_after` stores under a key: what any other state would, and when that was.

    `at` is the batch time of the txid that has last updated the key, `before` that of the one before it (None where
    what was there had no time), which a replay and an undo need.
    """

    stored: StoredRow
    at: datetime
    before: datetime | None


BackingKey = Row
"""The key columns of one row; the reserved key has one element more."""

BackingValue: TypeAlias = "StoredRow | TimedValue | BackingPosition"
"""What is stored under a key: a `TransactionalValue`, an `OpaqueValue` or a plain tuple of the value columns, with
`expire_after` in a `TimedValue`; a `BackingPosition` under the reserved key. All are immutable and can be pickled and
compared."""


@runtime_checkable
class BackingMap(Protocol):
    """A key-value store; called from one thread at a time, in the coordinator's process only.

    Every method may raise `RetryableError` for what may pass: the same call then comes again, and the text is in the
    log. Of any other class that is not this library's only type and place are told, never the text.
    """

    def multi_get(self, keys: Sequence[BackingKey]) -> Sequence[BackingValue | None]:
        """Return the value of each key in the order given, None for one that is not there.

        What it raises ends the run or the command; nothing is recorded.
        """

    def multi_put(self, items: Sequence[tuple[BackingKey, BackingValue]]) -> None:
        """Store every item durably before returning; in no order, and not as one transaction.

        What it raises for a batch's rows is a refusal (`RefusedError` is one as well, with its text): recorded, and a
        person decides. For a reserved key it ends the run or the command.
        """


@runtime_checkable
class ConditionalBackingMap(BackingMap, Protocol):
    """A store that can compare while it puts; with it a state is exactly once across take-overs."""

    def multi_put_if(self, changes: Sequence[tuple[BackingKey, BackingValue | None, BackingValue]]) -> Sequence[bool]:
        """Store each (key, expected, new) whose key holds what is expected (None: nothing); tell which were stored.

        A key that holds something else is no error. What it raises is what it is of `multi_put`, but for an undo or a
        divert, which it ends: what was decided stays recorded, and the next start finishes it.
        """


@runtime_checkable
class RemovableBackingMap(BackingMap, Protocol):
    """A store that an undo can take keys from which the undone txid made, and from which expired ones are removed."""

    def multi_remove_if(self, items: Sequence[tuple[BackingKey, BackingValue]]) -> Sequence[bool]:
        """Delete each key that holds what is expected; tell which were deleted.

        What it raises ends the undo or divert, which stays recorded: the next start finishes it. Where expired keys are
        removed it ends the run.
        """


@runtime_checkable
class ExpiringBackingMap(RemovableBackingMap, Protocol):
    """A store that finds the keys that have not been updated for long; without it they stay, and count as not there."""

    def expired(self, before: datetime, most: int) -> Sequence[BackingKey]:
        """Return keys, `most` of them at most, that hold a `TimedValue` whose `at` is `before` or earlier; in no order.

        What it returns is looked at before anything is removed. What it raises ends the run; nothing is changed.
        """


@runtime_checkable
class ClearableBackingMap(BackingMap, Protocol):
    """A store that a reset with states="clear" can empty."""

    def clear(self) -> None:
        """Delete every key.

        What it raises ends the reset, which stays recorded: the next start finishes it.
        """
