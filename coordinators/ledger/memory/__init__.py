"""The ledger in memory, of immutable values."""
