"""RabbitMQ's errors, named by what the caller must do."""

from __future__ import annotations

import builtins
import re
import socket
from dataclasses import dataclass
from typing import Final

from pika import exceptions

from trident.base.errors import FatalError, RetryableError, TridentError

_FORCED: Final = 320
_ACCESS_REFUSED: Final = 403
_NOT_FOUND: Final = 404
_RESOURCE_LOCKED: Final = 405
_PRECONDITION_FAILED: Final = 406
_NOT_ALLOWED: Final = 530
_NOT_IMPLEMENTED: Final = 540
_INTERNAL: Final = 541
_RAISED: Final = re.compile(r"Stream connection lost: (?P<name>\w+)\(")
_MALFORMED: Final = "error"
"""The name of `struct.error`."""
_LIMIT: Final = "connection limit"
_KEPT: Final = "Nothing was acked by this: what was delivered and not acked is in the queue again"
_LOGIN: Final = (exceptions.ProbableAuthenticationError, exceptions.AuthenticationError)


@dataclass(frozen=True, slots=True)
class RabbitPlace:
    """Which queue where, as errors name it."""

    server: str
    vhost: str
    queue: str

    def __str__(self) -> str:
        return f"queue {self.queue!r} in the vhost {self.vhost!r} at RabbitMQ {self.server}"


def classify(error: exceptions.AMQPError | OSError, place: RabbitPlace, *, was_open: bool = True) -> TridentError:
    """Return what an error of the client or of the broker means to the caller; no text holds an address' login.

    `was_open`: whether the connection was there, so that something may have been delivered by it.
    A code that is not known is fatal: going on after what nobody understood could lose data.
    """
    if isinstance(error, exceptions.ChannelClosedByBroker):
        return _of_channel(error, place)
    if isinstance(error, _LOGIN):
        return _login_refused(place)
    if isinstance(error, exceptions.ProbableAccessDeniedError):
        return too_many(place) if _LIMIT in str(error) else _vhost_refused(place)
    if isinstance(error, exceptions.ConnectionClosedByBroker):
        return _of_connection(error, place)
    if isinstance(error, exceptions.ChannelWrongStateError):  # it was closed between two looks
        return channel_closed(place)
    if isinstance(error, exceptions.StreamLostError) and (name := _failed_with(error)):
        return failed(place, f" ({name})")
    if isinstance(error, OSError | exceptions.AMQPConnectionError):
        # the name alone: the client's texts quote what it was configured with
        name = type(error).__name__
        if was_open:
            return RetryableError(f"{place}: the connection was lost ({name}). {_KEPT}")
        if isinstance(error, socket.gaierror):
            return RetryableError(
                f"{place}: there is no such host, or no name server answers ({name}). Nothing was read. Check the host "
                "in url"
            )
        return RetryableError(
            f"{place}: the broker can't be reached, or refuses the connection ({name}). Nothing was read"
        )
    return failed(place, f" ({type(error).__name__})")


def _failed_with(lost: exceptions.StreamLostError) -> str:
    """Return which of Python's errors the client calls the loss of a connection, "" where it was one.

    What it can't read of a message it says so as well; the next connection would be given the same again.
    """
    found = _RAISED.search(str(lost))
    raised = getattr(builtins, found["name"], None) if found is not None else None
    is_own = isinstance(raised, type) and issubclass(raised, Exception) and not issubclass(raised, OSError | EOFError)
    return found["name"] if found is not None and (is_own or found["name"] == _MALFORMED) else ""


def failed(place: RabbitPlace, how: str = "") -> FatalError:
    """Return the error for a client that could not go on with what it was sent or told."""
    return FatalError(
        f"{place}: the client pika failed{how}. {_KEPT}. Look at the options in the address, at the version of pika, "
        "and at the newest messages: a header may be of a kind that it does not know"
    )


def channel_closed(place: RabbitPlace) -> TridentError:
    """Return the error for a channel that is closed, nobody knows why: whoever opens another one hears of it."""
    return RetryableError(f"{place}: the broker has closed the channel. {_KEPT}")


def cancelled(place: RabbitPlace) -> TridentError:
    """Return the error for a consumer that the broker has ended while the queue is there."""
    return RetryableError(
        f"{place}: the broker has ended the consumer, and the queue is there: it has moved to another node, or was "
        f"deleted and made again, and then what was in it is gone. {_KEPT}"
    )


def stream_refused(place: RabbitPlace) -> FatalError:
    """Return the error for a stream in a queue's place."""
    return FatalError(
        f"{place}: it is a stream (x-queue-type=stream), which keeps no single message until its ack. Nothing was "
        "acked or changed. Read a classic or a quorum queue"
    )


def too_many(place: RabbitPlace) -> TridentError:
    """Return the error for a vhost or a user that may have no further connection: others end."""
    return RetryableError(
        f"{place}: the broker lets no further connection in (the limit of the vhost or of the user). {_KEPT}"
    )


def _of_connection(error: exceptions.ConnectionClosedByBroker, place: RabbitPlace) -> TridentError:
    code = error.reply_code
    if code == _ACCESS_REFUSED:
        return _login_refused(place)
    if code == _NOT_ALLOWED and _LIMIT in error.reply_text:
        return too_many(place)
    if code == _NOT_ALLOWED:
        return _vhost_refused(place)
    if code in (_FORCED, _INTERNAL):
        return RetryableError(f"{place}: the broker has closed the connection ({code}: {error.reply_text}). {_KEPT}")
    return FatalError(
        f"{place}: the broker has closed the connection ({code}: {error.reply_text}). {_KEPT}. Its log says more"
    )


def _of_channel(error: exceptions.ChannelClosedByBroker, place: RabbitPlace) -> TridentError:
    code, said = error.reply_code, error.reply_text
    if code == _NOT_FOUND and ("is down" in said or "inaccessible" in said):
        return RetryableError(f"{place}: the node that has the queue is away. {_KEPT}, once it is back")
    if code == _NOT_FOUND:
        return FatalError(
            f"{place}: there is no such queue. If it was there before, it was deleted with all that was not acked; "
            "what is done stays done. Declare it (durable, with a dead-letter exchange), or correct the name; the "
            "spout declares none, since it can't know how"
        )
    if code == _ACCESS_REFUSED and "exclusive use" in said:
        return FatalError(
            f"{place}: another consumer reads it exclusively. Nothing was read. End that one: it may be a run of this "
            "topology elsewhere"
        )
    if code == _ACCESS_REFUSED:
        return FatalError(
            f"{place}: the user may not read it. {_KEPT}. The right that is needed is read on the queue: "
            "rabbitmqctl set_permissions -p VHOST USER '^$' '^$' '^QUEUE$'"
        )
    if code == _RESOURCE_LOCKED:
        return FatalError(
            f"{place}: it is exclusive to the connection that has declared it, and goes with that. Nothing was read. "
            "Declare a queue that is durable and not exclusive"
        )
    if code == _PRECONDITION_FAILED and "timed out" in said:
        return RetryableError(
            f"{place}: a message was not acked within the broker's consumer_timeout. {_KEPT}. Where batches take so "
            "long, raise consumer_timeout, or give smaller ones (max_batch_size, max_pending)"
        )
    if code == _NOT_IMPLEMENTED:
        return stream_refused(place)
    return FatalError(
        f"{place}: the broker has refused the consumer ({code}: {said}). {_KEPT}. The broker's log says more"
    )


def _login_refused(place: RabbitPlace) -> FatalError:
    return FatalError(
        f"{place}: the login was refused. Nothing was read. Check user and password in url (characters such as @ and / "
        "as %40 and %2F), and whether the user may log in from here (guest may from localhost only)"
    )


def _vhost_refused(place: RabbitPlace) -> FatalError:
    return FatalError(
        f"{place}: there is no such vhost, or the user has no right in it. Nothing was read. The path of url is the "
        "vhost: '/' is said as %2F"
    )
