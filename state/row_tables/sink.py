"""A table that records are written to, and what a stream writes there: a sink."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import pyarrow as pa

from trident.base.timeouts import Timeouts
from trident.state.places import HasPlaces, Places
from trident.state.plainly import PlainTarget, no_plain_form
from trident.state.row_tables.shape import RowShape
from trident.state.row_tables.target import RowTarget
from trident.state.target import LedgerDatabase


class RowStore(Protocol):
    """A table in a database: an immutable description that a topology is built with; its repr shows no secret."""

    @property
    def name(self) -> str:
        """The sink's name, unique among the states and sinks of its topology."""

    @property
    def table(self) -> str | None:
        """The table's name, `schema.table` where the store has schemas; None: that of the sink."""

    def description(self) -> dict[str, str]:
        """Return what must stay the same over restarts; no secrets."""

    def open(self, shape: RowShape, ledger_database: LedgerDatabase, timeouts: Timeouts) -> RowTarget:
        """Connect to the table's database, or share the ledger's; see `State.open`."""


@runtime_checkable
class PlainRowStore(Protocol):
    """One that can be written to without a position."""

    def check_plain(self, shape: RowShape) -> None:
        """Raise ConfigurationError for what can't be written so; connects to nothing."""

    def open_plain(self, shape: RowShape, ledger_database: LedgerDatabase, timeouts: Timeouts) -> PlainTarget:
        """Connect as `RowStore.open` does."""


@dataclass(frozen=True, slots=True)
class RowSink:
    """See `Sink`."""

    store: RowStore
    shape: RowShape

    @property
    def name(self) -> str:
        """The table's name as a sink."""
        return self.store.name

    @property
    def schema(self) -> pa.Schema:
        """The stream's fields, and their order where it matters; what must not be null is refused when it is staged."""
        return pa.schema([field.with_nullable(True) for field in self.shape.staged])

    def description(self) -> dict[str, str]:
        """Return where rows are written, how, and by what they are found; columns may come and go."""
        shape = self.shape
        said = {"write": str(shape.write), "key": ", ".join(shape.keys)}
        said |= {"deleted": shape.deleted or "", "valid_from": shape.valid_from or "", "valid_to": shape.valid_to or ""}
        said["skip_unchanged"] = "yes" if shape.skip_unchanged else ""
        return {**self.store.description(), **{what: given for what, given in said.items() if given}}

    def places(self) -> Places:
        """See `HasPlaces`; one of a user's own need not say it."""
        return self.store.places() if isinstance(self.store, HasPlaces) else {}

    def open(self, ledger_database: LedgerDatabase, timeouts: Timeouts) -> RowTarget:
        """See `Sink`."""
        return self.store.open(self.shape, ledger_database, timeouts)

    def check_plain(self) -> None:
        """See `PlainSink`."""
        self._plain.check_plain(self.shape)

    def open_plain(self, ledger_database: LedgerDatabase, timeouts: Timeouts) -> PlainTarget:
        """See `PlainSink`."""
        return self._plain.open_plain(self.shape, ledger_database, timeouts)

    @property
    def _plain(self) -> PlainRowStore:
        if not isinstance(self.store, PlainRowStore):
            raise no_plain_form(f"sink {self.name!r} ({type(self.store).__name__})", "take a PostgresTable")
        return self.store
