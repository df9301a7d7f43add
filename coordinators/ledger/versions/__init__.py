"""The ledger's tables by numbered steps."""
