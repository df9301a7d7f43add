"""What a user's function is given that looks after acks itself: records to anchor to, and a collector to tell."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import NoReturn

from trident.base.errors import FieldError


class NoSuchFieldError(FieldError, KeyError):
    """A record was asked for a field that it does not have; also what a `dict` raises."""


class InputRecord(dict[str, object]):
    """A record as a function over rows is given it; it is what is acked, failed and anchored to, so no copy of it is.

    Two are never equal, whatever their fields are. A field that it does not have is a `FieldError`, which ends the run:
    it would be missing at each try.
    """

    __slots__ = ("trace",)

    trace: object
    """The library's own: what it is of."""

    __hash__ = object.__hash__  # type: ignore[assignment]

    def __missing__(self, key: object) -> NoReturn:
        # what is no name may be a value of a record, which no error shows
        name = key if isinstance(key, str) and key.isidentifier() else "…"
        raise NoSuchFieldError("a record was asked for a field that it does not have", name, tuple(self))

    def __eq__(self, other: object) -> bool:
        return self is other

    def __ne__(self, other: object) -> bool:
        return self is not other


class Collector(ABC):
    """Takes what a function makes of the records that it is given, and hears what became of each.

    One for each task, to be used by the thread that calls the function, until its `finish` has returned. Whatever is
    asked of it has its effect with the batch, and none if the batch is tried again.
    """

    @abstractmethod
    def emit(self, values: object, *, anchors: Iterable[InputRecord] = ()) -> None:
        """Pass on one row of the declared fields: a tuple in their order, a dict by names or, of one field, its value.

        It is a part of the trees of all messages that the anchors are of: if something fails it further on, those
        messages have failed. Without anchors it is of no message. Raises `ConfigurationError` for an anchor that is no
        record of this task.
        """

    @abstractmethod
    def ack(self, record: InputRecord) -> None:
        """Say that all is done with a record, also later than in the call that it was given in.

        Of one that has been acked or failed before it is counted, and changes nothing.
        """

    @abstractmethod
    def fail(self, record: InputRecord, reason: str = "") -> None:
        """Say that a record can't be processed: its messages go back to where they came from, and are in no result.

        The batch is processed again without them. One that was acked before has failed all the same, which is counted.
        Raises `ConfigurationError` for a record of no message that could be given back.
        """
