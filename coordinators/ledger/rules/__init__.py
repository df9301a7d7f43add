"""What may be written into a ledger: pure checks, used alike by the SQL ledgers and the one in memory."""
