"""The durable record of plans, pins and commits."""

from __future__ import annotations

from trident.coordinators.ledger.base import Ledger
from trident.coordinators.ledger.memory.ledger import MemoryLedger
from trident.coordinators.ledger.sql.postgres import PostgresLedger
from trident.coordinators.ledger.sql.sqlite import SqliteLedger

__all__ = ["Ledger", "MemoryLedger", "PostgresLedger", "SqliteLedger"]
