"""Commands that error texts name, said the same everywhere; `tests/cli` holds that they exist."""

from __future__ import annotations

RESET = "reset the topology (trident reset MODULE:TOPOLOGY --states adopt, or clear; in Python trident.reset)"
RESET_KEEPING_ROWS = "reset the topology with its rows kept (trident reset MODULE:TOPOLOGY --states adopt)"
UNDO = "trident undo MODULE:TOPOLOGY"
RETRY = "trident retry"
DIVERT = "trident divert MODULE:TOPOLOGY"
