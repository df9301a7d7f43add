"""Dumps of what states keep apart from a ledger, one per version of these tables, kept as SQL text.

    python -m tests.state.dumping sqlite        # or: postgres; writes tests/state/dumps/…

A dump is made once, by the code that has that version as its newest, and never again: every later
version opens it and goes on. Each holds a state after two txids with the third staged: a table in a
database of its own, and the staged updates of a per-key store.
"""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path

import msgspec
import psycopg

from tests.state.harnesses import ClearableMap
from trident.base.writes import WriteManifest
from trident.state import BackingMapState, PostgresState, SqliteState
from trident.state.maps.blobs import BLOB_TABLES
from trident.state.postgres.database import PostgresDatabase
from trident.state.sqlite.database import SqliteDatabase
from trident.state.staged import WrittenUpdates
from trident.state.tables.versions import META_TABLES
from trident.state.target import Target
from trident.testing.state_harness import COUNTS, EPOCH, OWNER, batch_of, counts

DUMPS = Path(__file__).parent / "dumps"
STAGED = 3
VERSIONS = {"tables": len(META_TABLES.steps), "blobs": len(BLOB_TABLES.steps)}
"""The newest version of what each dump is about."""
AnyDatabase = SqliteDatabase | PostgresDatabase


def dump_of(backend: str, about: str, version: int) -> Path:
    """Return where a dump is."""
    return DUMPS / f"{backend}-{about}-v{version}.sql"


def begin(store: Target) -> None:
    """Prepare a state of its own as a coordinator does."""
    store.prepare()
    store.raise_fence(OWNER, EPOCH)
    store.register(OWNER, EPOCH, 0)


def rows_of(txid: int) -> list[tuple[str | None, int, int]]:
    """Return what a txid adds; the same in every version."""
    return [("ann", txid, 1), ("bob", 1, -txid), (None, 1, 1)]


def live(store: Target, until: int = STAGED) -> WriteManifest:
    """Apply all txids but the last, and stage that; returns its manifest."""
    begin(store)
    for txid in range(1, until):
        store.apply(batch_of(txid), store.stage(batch_of(txid), counts(*rows_of(txid))))
    staged = store.stage(batch_of(until), counts(*rows_of(until)))
    assert isinstance(staged, WrittenUpdates)
    return staged.writes[0]


def open_table(database: AnyDatabase) -> Target:
    """Return the dumped state over a table, in a database of its own."""
    if isinstance(database, SqliteDatabase):
        return SqliteState("counts", path=database.path).open(COUNTS, database)
    return PostgresState("counts", dsn=database.dsn).open(COUNTS, database)


def open_map(database: AnyDatabase, backing: ClearableMap) -> Target:
    """Return the dumped state over a per-key store, whose staged updates lie in the database."""
    return BackingMapState("counts", backing).open(COUNTS, database)


def map_before(database: AnyDatabase) -> ClearableMap:
    """Return a per-key store as it was when its dump was made; staged over some other database."""
    backing = ClearableMap()
    live(open_map(database, backing))
    return backing


def manifest_of(database: AnyDatabase) -> WriteManifest:
    """Return the accepted write of the txid that is staged, which a ledger's pin would hold."""
    with database.transaction() as transaction:
        text = transaction.connection.exec_driver_sql("SELECT manifest FROM accepted").scalar_one()
    return msgspec.json.decode(str(text), type=WriteManifest)


def _fill(about: str, database: AnyDatabase) -> None:
    store = open_table(database) if about == "tables" else open_map(database, ClearableMap())
    manifest = msgspec.json.encode(live(store)).decode()
    store.close()
    with database.transaction() as transaction:
        transaction.connection.exec_driver_sql("CREATE TABLE accepted (manifest text)")
        transaction.connection.exec_driver_sql(f"INSERT INTO accepted VALUES ('{manifest}')")
    database.close()


def _dump_sqlite() -> None:
    for about, version in VERSIONS.items():
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "state.sqlite"
            _fill(about, SqliteDatabase(path))
            with closing(sqlite3.connect(path)) as connection:
                text = "\n".join(connection.iterdump()) + "\n"
        dump_of("sqlite", about, version).write_text(text)


def _dump_postgres() -> None:
    from trident.local import postgres

    with postgres.LocalPostgres() as server:
        program = str(server._binaries() / "pg_dump")
        for about, version in VERSIONS.items():
            dsn = server.create_database()
            _fill(about, PostgresDatabase(dsn))
            words = [program, "--inserts", "--no-owner", "--no-privileges", dsn]
            text = subprocess.run(words, check=True, capture_output=True, text=True).stdout
            kept = [line for line in text.splitlines() if line and not line.startswith(_NOISE)]
            dump_of("postgres", about, version).write_text("\n".join(kept) + "\n")


_NOISE = ("--", "\\", "SET ", "SELECT pg_catalog")


def restore(backend: str, about: str, version: int, where: Path | str) -> None:
    """Make the file, or fill the database, of a dump."""
    text = dump_of(backend, about, version).read_text()
    if isinstance(where, Path):
        with closing(sqlite3.connect(where)) as connection:
            connection.executescript(text)
        return
    with psycopg.connect(where) as server:
        server.execute(text.encode())


if __name__ == "__main__":
    DUMPS.mkdir(exist_ok=True)
    {"sqlite": _dump_sqlite, "postgres": _dump_postgres}[sys.argv[1]]()
