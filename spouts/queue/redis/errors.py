"""Redis' errors, named by what the caller must do."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import Final

from redis import exceptions

from trident.base.errors import FatalError, RetryableError, TridentError

_SHOWN: Final = 5
_IN_LINE: Final = 100
_LONGEST: Final = 200
_REFUSALS: Final = ("NOAUTH", "WRONGPASS", "NOPERM", "EXEC without MULTI")
"""The last is what follows a MULTI that was refused."""
_IN_PIPELINE: Final = "of pipeline caused error: "
"""Behind what the client puts in front of an answer to one of several commands."""
_KEPT: Final = "Nothing was acked by this: what was delivered and not acked stays pending in the group"
_DENIED: Final = (exceptions.AuthenticationError, exceptions.AuthorizationError, exceptions.NoPermissionError)
_PASSING: Final = (
    exceptions.ConnectionError,
    exceptions.TimeoutError,
    exceptions.BusyLoadingError,
    exceptions.ReadOnlyError,
    exceptions.ClusterDownError,
    exceptions.MasterDownError,
    exceptions.OutOfMemoryError,
    exceptions.TryAgainError,
    OSError,
)
_WORDS: Final = (
    "LOADING",
    "READONLY",
    "MASTERDOWN",
    "CLUSTERDOWN",
    "OOM",
    "MISCONF",
    "NOREPLICAS",
    "TRYAGAIN",
    "BUSY ",
)
"""The first words of answers that pass by themselves, for versions of the client that have no class for them."""


@dataclass(frozen=True, slots=True)
class RedisPlace:
    """Which stream and group where, as errors name them."""

    server: str
    stream: str
    group: str

    def __str__(self) -> str:
        return f"stream {self.stream!r}, group {self.group!r} at Redis {self.server}"


def classify(error: exceptions.RedisError | OSError, place: RedisPlace) -> TridentError:
    """Return what an error of the client or an answer of the server means to the caller.

    An answer that is not known is fatal: going on after what nobody understood could lose data.
    """
    said = str(error).rpartition(_IN_PIPELINE)[2]
    if isinstance(error, _DENIED) or any(word in said for word in _REFUSALS):
        return FatalError(
            f"{place}: Redis has refused the login or the command. {_KEPT}. Check user and password in url; the rights "
            "that are needed: ACL SETUSER user ~STREAM +xreadgroup +xautoclaim +xclaim +xack +xinfo|stream "
            "+xinfo|groups +xgroup|setid +watch +multi +exec (and +xgroup|create for create_group, +select "
            "where url has a database)"
        )
    if isinstance(error, _PASSING) or said.startswith(_WORDS):
        return RetryableError(f"{place}: the server is away, or can't answer now ({type(error).__name__}). {_KEPT}")
    if said.startswith("NOGROUP") or "no such key" in said:
        return FatalError(
            f"{place}: there is no such stream, or it has no such group. If they were there before, the stream was "
            "deleted or exchanged, or the group was destroyed, and what was pending is known to nobody now; what is "
            f"done stays done. Put it back, or say where to begin: XGROUP CREATE {place.stream} {place.group} 0 "
            "MKSTREAM (0: all that the stream has, also what was done before; an entry's id: what follows it)"
        )
    if said.startswith("WRONGTYPE"):
        return FatalError(f"{place}: the key holds no stream. Nothing was read or changed. Correct the name")
    if said.startswith("unknown command") or "unknown subcommand" in said:
        return too_old(place)
    if isinstance(error, exceptions.MovedError | exceptions.AskError) or said.startswith(("MOVED", "CROSSSLOT")):
        return FatalError(f"{place}: the server is part of a cluster, which this spout does not follow. {_KEPT}")
    # what the server answers quotes no login; what the client says of itself may
    shown = f": {said[:_LONGEST]}" if isinstance(error, exceptions.ResponseError) else ""
    return FatalError(f"{place}: Redis has refused the command ({type(error).__name__}{shown}). {_KEPT}")


def too_old(place: RedisPlace) -> FatalError:
    """Return the error for a server that can't say what the guarantee needs."""
    return FatalError(f"{place}: the server is too old; Redis 7 or newer is needed. {_KEPT}")


def _named(ids: Sequence[str]) -> str:
    return ", ".join(ids[:_SHOWN]) + (" … (the log names all)" if len(ids) > _SHOWN else "")


def all_named(place: RedisPlace, ids: Sequence[str]) -> Sequence[str]:
    """Return the lines of the log that name entries, where the text of an error has no room for them."""
    if len(ids) <= _SHOWN:
        return ()
    parts = (ids[start : start + _IN_LINE] for start in range(0, len(ids), _IN_LINE))
    return [f"{place}: in the stream no more: {', '.join(some)}" for some in parts]


def lost_entries(place: RedisPlace, ids: Sequence[str], undecided: Container[str] = ()) -> FatalError:
    """Return the error for entries that were pending and are in the stream no more; `undecided` may be done by now."""
    count = sum(id_ in undecided for id_ in ids)
    but = f", but for {count:,} that were under way when a process died, if their batch is done" if count else ""
    return FatalError(
        f"{place}: {len(ids):,} entries were deleted or trimmed before they were acked: {_named(ids)}. They are lost"
        f"{but}; all others are as they were, and the next run goes on without these. Keep entries until the group has "
        "acked them (XTRIM with MINID below what XPENDING names), or trim later"
    )


def gone_under_way(place: RedisPlace, ids: Sequence[str]) -> str:
    """Return what is said of entries that are gone from the stream, and that the coordinator holds."""
    return (
        f"{place}: {len(ids):,} entries were deleted or trimmed while they were under way, when a process died: "
        f"{_named(ids)}. Their values are here, so each is in every result once its batch is done; one that fails, or "
        "is left when the run ends, is lost. Keep entries until the group has acked them"
    )


def lost_unread(place: RedisPlace, count: int, way_on: str) -> FatalError:
    """Return the error for entries that are gone from the stream and were never delivered to the group.

    `way_on` is what has to be said to Redis before a run goes on; empty where nothing has.
    """
    goes_on = f"a run goes on without these behind {way_on}" if way_on else "the next run goes on without these"
    return FatalError(
        f"{place}: {count:,} entries were deleted or trimmed before the group had read them. They are lost; all others "
        f"are as they were, and {goes_on}. Give the stream more room (MAXLEN) than what is "
        "added while no run is there"
    )


def exchanged(place: RedisPlace, read: str, newest: str) -> FatalError:
    """Return the error for a stream whose newest entry is older than what was read."""
    return FatalError(
        f"{place}: the entry {read} was read, and the newest that the stream has ever had is {newest}: it was deleted "
        "and made again, or put back from a backup. Its ids may name other entries now, so nothing more was read or "
        f"acked. Put the stream back, or destroy the group and say where to begin: XGROUP CREATE {place.stream} "
        f"{place.group} 0"
    )


def begun_anew(place: RedisPlace, before: int, now: int) -> FatalError:
    """Return the error for a stream that has had fewer entries than it had before."""
    return FatalError(
        f"{place}: it had had {before:,} entries, and has had {now:,}: it was deleted and made again, or put back from "
        "a backup, and what the group had not read of the old one is gone. Nothing more was read or acked; what is "
        "done stays done. Start again to read on from where its group stands now"
    )


def went_back(place: RedisPlace, read: str, stands: str) -> FatalError:
    """Return the error for a group that stands below what was read through it."""
    return FatalError(
        f"{place}: the entry {read} was read, and the group stands at {stands} now: it was destroyed and made again, "
        "or set back (XGROUP SETID). Nothing more was read or acked; what is done stays done. Start again to read on "
        "from where it stands: what is done counts once within the horizon, and again from behind it, so set the group "
        "higher before where that matters, and no higher than below the oldest entry that is not done"
    )
