"""Why a message goes back to where it came from."""

from __future__ import annotations

from enum import StrEnum


class Failure(StrEnum):
    """Why a message was failed, so that its source gives it again."""

    TIMED_OUT = "timed_out"
    """It had been pending for longer than the timeout when the attempt that it was in failed."""
    OPERATION = "operation"
    """An operation of the topology has failed it, or a record that was made of it."""
    NOT_ACKED = "not_acked"
    """An operation that looks after acks itself has left it, or a record that was made of it, without one."""
    RUN_ENDED = "run_ended"
    """The run ends, and it is in nothing that is done or pinned."""
