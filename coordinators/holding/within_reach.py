"""Whether the commands that an error names reach the ledger of the run that raised it."""

from __future__ import annotations

import re
from typing import Final

from trident.coordinators.ledger.base import Ledger
from trident.coordinators.ledger.memory.ledger import MemoryLedger

_COMMAND: Final = re.compile(r"\btrident (?:(reset|retry|undo|divert|drop)|activate|deactivate|rebalance|kill)\b")


def said_instead(ledger: Ledger, error: BaseException) -> str | None:
    """Return what can be done where an error names a command and its ledger lives in a process; None: nothing."""
    if not isinstance(ledger, MemoryLedger) or not (found := _COMMAND.search(str(error))):
        return None
    call = f"trident.{found[1]}(…)" if found[1] else "the function of that name"
    return (
        f"The ledger is a MemoryLedger, which no command reaches: in this process, call {call} with this ledger "
        "object; or begin anew with another one and states that are empty."
    )
