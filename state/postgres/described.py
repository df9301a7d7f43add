"""What a table in PostgreSQL is described with, be it a state's or a sink's: a name, a table, addresses."""

from __future__ import annotations

from dataclasses import dataclass

from trident.base.checks import check_text
from trident.base.errors import ConfigurationError
from trident.base.names import check_given_name, check_table_name
from trident.base.secrets import Secret, keep_secret
from trident.base.timeouts import Timeouts
from trident.state.places import Places
from trident.state.postgres.addresses import database_of, masked, normal_dsn, path_of
from trident.state.postgres.database import PostgresDatabase
from trident.state.tables.names import STAGING, helper_table
from trident.state.target import LedgerDatabase

_DEFAULT_SCHEMA = "public"


@dataclass(frozen=True, slots=True)
class DescribedTable:
    """A table of a state or sink; `what` is which of them, for error texts."""

    what: str
    name: str
    given_table: str | None
    dsn: str | None
    tasks_dsn: str | None

    def check(self) -> None:
        """Raise ConfigurationError for what can be told to be wrong without a connection."""
        check_given_name(f"a {self.what}'s name", self.name)
        check_table_name(f"a {self.what}'s table", self.table)
        for which, dsn in (("dsn", self.dsn), ("tasks_dsn", self.tasks_dsn)):
            if dsn is not None:
                normal_dsn(check_text(which, dsn, allowed="the address of a database, or None", secret=True))

    @property
    def table(self) -> str:
        """The table's name, which is its own unless another one was given."""
        return self.name if self.given_table is None else self.given_table

    @property
    def database(self) -> str:
        """Whose database it is in, as the ledger keeps it."""
        return "ledger" if self.dsn is None else "own"

    @property
    def staging(self) -> str:
        """The name of its staging table."""
        return helper_table(STAGING, self.table)

    @property
    def tasks_address(self) -> str | None:
        """The address that tasks use, if it is another one."""
        return None if self.tasks_dsn is None else normal_dsn(self.tasks_dsn)

    def hidden(self) -> tuple[Secret | None, Secret | None]:
        """Return both addresses as what may be pickled."""
        dsn, tasks_dsn = (None if each is None else keep_secret(each) for each in (self.dsn, self.tasks_dsn))
        return dsn, tasks_dsn

    def places(self) -> Places:
        """Return its table and its staging table; without a schema they are in the one that is the default.

        Unless the address says where else: then only the server knows.
        """
        where = "the ledger's database" if self.dsn is None else masked(normal_dsn(self.dsn))
        database = () if self.dsn is None else database_of(self.dsn)
        path = path_of(self.dsn) if self.dsn is not None else ""
        whole = self.table if "." in self.table or path else f"{_DEFAULT_SCHEMA}.{self.table}"
        return {
            ("postgres", database, "" if "." in self.table else path, whole): f"table {whole!r} of {where}",
            ("postgres staging", database, path, self.staging): f"the staging table of {self.table!r} in {where}",
        }

    def open_database(self, ledger_database: LedgerDatabase, timeouts: Timeouts) -> PostgresDatabase:
        """Return the database of the own dsn, or the ledger's; nothing is sent to it yet."""
        if self.dsn is not None:
            return PostgresDatabase(self.dsn, lease=timeouts.lease, whose=f"{self.what} {self.name!r}")
        if isinstance(ledger_database, PostgresDatabase):
            return ledger_database
        raise ConfigurationError(
            f"{self.what} {self.name!r} has no dsn and the ledger is not in Postgres, so there is no database to keep "
            "it in: give it a dsn, or use a PostgresLedger"
        )
