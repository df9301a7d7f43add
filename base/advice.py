"""Commands that error texts name, said the same everywhere, each with what it does to the data.

`tests/cli/test_advice.py` takes every one out of an error that was raised, carries it out and compares the sums. A
command is given only where it works: rows are resumed only where it is known how far they have read.
"""

from __future__ import annotations

_CLEARED = (
    "every state is filled anew with what its sources still hold, from where the spouts begin; a queue gives "
    "what it has left, a consumer group what it has not passed"
)
_RESUMED = "each partition goes on where it stood"
_FROM_A_MOMENT = (
    "in all streams records before that moment that the rows do not hold are skipped, and records from it on that they "
    "hold already are counted twice"
)

RESET_CLEARING = (
    f"reset the topology with its states emptied (trident reset MODULE:TOPOLOGY --states clear; {_CLEARED})"
)
RESET_KEEPING_ROWS = f"reset the topology with its rows kept (trident reset MODULE:TOPOLOGY --states adopt; {_RESUMED})"
RESET = f"{RESET_KEEPING_ROWS}, or {RESET_CLEARING}"
RESET_FROM_A_MOMENT = (
    "reset the topology with its rows kept and a moment to begin at (trident reset MODULE:TOPOLOGY --states adopt "
    f"--start MOMENT; {_FROM_A_MOMENT})"
)
RESET_FROM_THE_BEGINNING = (
    "reset the topology with its rows kept and all read that is there (trident reset MODULE:TOPOLOGY --states adopt "
    "--start earliest; in all streams what the sources hold now is counted, also what the rows hold already)"
)
RESET_ANEW = f"{RESET_CLEARING}, or {RESET_FROM_A_MOMENT}"
RESET_LOST_CLEARING = (
    "reset the topology with its states emptied (trident reset MODULE:TOPOLOGY --ledger-lost --states clear; "
    f"{_CLEARED})"
)
RESET_LOST = (
    f"{RESET_LOST_CLEARING}, or with its rows kept and a moment to begin at (trident reset MODULE:TOPOLOGY "
    f"--ledger-lost --states adopt --start MOMENT; {_FROM_A_MOMENT}; where a stream has no times, --start earliest: a "
    "queue gives what it has left)"
)
UNDO = "trident undo MODULE:TOPOLOGY"
RETRY = "trident retry"
DIVERT = "trident divert MODULE:TOPOLOGY"
REAPPLY = "trident reapply MODULE:TOPOLOGY"
DROP = "trident drop MODULE:TOPOLOGY"
FORGET = "trident forget MODULE:TOPOLOGY"
RENAME = "trident evolve MODULE:TOPOLOGY"
ACTIVATE = "trident activate"
