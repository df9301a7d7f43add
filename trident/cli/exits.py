"""What the program's exit codes mean."""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    """How the program ends."""

    DONE = 0
    FAILED = 1
    """Nothing was changed, or what was begun is finished by the next start; the text says which."""
    WRONG_USE = 2
    """A wrong command line, topology or ledger; nothing was changed."""
    HELD = 3
    """A coordinator runs the topology; nothing was changed."""
    NOT_CONFIRMED = 4
    """The person was asked and did not say yes; nothing was changed."""
    NEEDS_DECISION = 5
    """A refusal waits for a person."""
    PROBLEM = 6
    """`trident doctor` found something that is to be done; nothing was changed."""
    NOT_ENDED = 7
    """`trident kill` was taken, and the run still holds the topology: it ends when what it does returns."""
