"""What the parts of a SQL ledger share: its database, and transactions with tables of this version."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager

from trident.base.identity import Epoch
from trident.state.databases.base import SqlDatabase, SqlTransaction


class PartOfLedger(ABC):
    """A part of a SQL ledger; see `Ledger` for what each method guarantees."""

    _database: SqlDatabase

    @abstractmethod
    def _migrated(self, topology: str, epoch: Epoch) -> AbstractContextManager[SqlTransaction]:
        """Return a transaction that shows for whom it works, with tables of this version."""
