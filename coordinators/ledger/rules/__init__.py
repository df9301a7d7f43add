"""What may be written into a ledger: pure checks, used alike by the SQL ledgers and the one in memory.

Each check returns nothing, or raises `MismatchError` before anything is written. All of them are
given what was read under the lock of the topology's progress row, so nothing can change in between.
"""
