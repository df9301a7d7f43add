"""A message on its way from a spout's process to the coordinator: checked, and pickled as it is when it is given."""

from __future__ import annotations

import pickle
from typing import Final

from trident.base.errors import FatalError
from trident.base.user_code import type_and_place
from trident.spouts.queue.message import LONGEST_DIGEST, LONGEST_ID, Message
from trident.spouts.queue.received import id_problem, is_plain

_PROTOCOL: Final = pickle.HIGHEST_PROTOCOL


def checked(message: object, *, ids_are_needed: bool) -> Message:
    """Return what `next_tuple` has returned; raises `FatalError` for what could not be known when it comes again."""
    if not isinstance(message, Message):
        raise FatalError(f"returned a value of the type {type(message).__name__}, where a Message or None is wanted")
    id_ = message.id
    if not isinstance(message.digest, str) or len(message.digest) > LONGEST_DIGEST or not is_plain(message.digest):
        raise FatalError(
            f"gave a message whose digest is no text of up to {LONGEST_DIGEST} characters without NUL and surrogates. "
            "It is in no result and was not acked"
        )
    if message.values is None:  # what a user may do
        raise FatalError(f"gave the message {id_!r} without values. It is in no result and was not acked")
    if id_ is None:
        if ids_are_needed:
            raise FatalError(
                "gave a message without an id: if it were given again, nobody could tell, and it would count twice. "
                "It is in no result and was not acked. Give messages an id that stays the same at each delivery; or "
                "say horizon = 0 in the spout's class, for at least once"
            )
        return message
    if not isinstance(id_, str) or id_problem(id_) is not None:
        raise FatalError(
            f"gave a message whose id is no text of 1 to {LONGEST_ID} characters, not of blanks alone, without NUL "
            "and surrogates. It is in no result and was not acked"
        )
    return message


def pickled(message: Message) -> bytes:
    """Return a message as it is now: a spout may use the same object for the values of its next one.

    Field by field: what a dataclass with slots does by itself takes six times as long, in a call for each message.
    """
    try:
        return pickle.dumps((message.values, message.id, message.is_redelivered, message.digest), _PROTOCOL)
    except Exception as error:  # noqa: BLE001 - users' values
        raise FatalError(
            f"gave the message {message.id!r} with values that can't be pickled ({type(error).__name__}): give them as "
            "plain values, not as objects of a class of the script itself. It is in no result and was not acked"
        ) from None


def unpickled(given: bytes) -> Message:
    """Return a message in the coordinator's process; raises `FatalError` for values that can't be had there."""
    try:
        return Message(*pickle.loads(given))  # noqa: S301 - of a process that was started here
    except Exception as error:  # noqa: BLE001 - users' values
        raise FatalError(f"gave values that can't be unpickled: {type_and_place(error)}") from None
