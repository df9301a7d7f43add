"""Staging tables: what executors, or a driver whose ledger is elsewhere, wrote of batches not yet applied."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from sqlalchemy import BindParameter, Connection, bindparam, text

from trident.base.arrays import AnyArray
from trident.base.digest import Digest, hash64, seed_of
from trident.base.identity import BatchId
from trident.base.writes import WriteManifest
from trident.state.staged import StagingLostError
from trident.state.tables.dialect import Dialect, fetched
from trident.state.tables.names import quote, quote_table
from trident.state.tables.shape import ColumnSpec

TXID = "trident_txid"
ATTEMPT = "trident_attempt"
WRITE_ID = "trident_write_id"
DIGEST = "trident_digest"

CONTROL_SPECS = (
    ColumnSpec(TXID, "bigint", False),
    ColumnSpec(ATTEMPT, "bigint", False),
    ColumnSpec(WRITE_ID, "text", False),
    ColumnSpec(DIGEST, "bigint", False),
)


def staging_rows(batch: BatchId, write_id: str, rows: pa.Table, first: int) -> tuple[pa.Table, Digest]:
    """Return the rows with the columns that tell whose they are, and their digest; `first` numbers the first row."""
    hashes = hash64(seed_of(write_id), np.arange(first, first + rows.num_rows, dtype=np.int64))
    controls: dict[str, AnyArray] = {
        TXID: pa.repeat(pa.scalar(batch.txid, pa.int64()), rows.num_rows),
        ATTEMPT: pa.repeat(pa.scalar(batch.attempt, pa.int64()), rows.num_rows),
        WRITE_ID: pa.repeat(pa.scalar(write_id, pa.string()), rows.num_rows),
        DIGEST: pa.array(hashes.view(np.int64)),
    }
    marked = pa.table(dict(controls))
    for name, column in zip(rows.column_names, rows.columns, strict=True):
        marked = marked.append_column(name, column)
    return marked, Digest.of(hashes)


@dataclass(frozen=True, slots=True)
class Writes:
    """The accepted writes of one batch in a staging table: nothing else in it is ever read."""

    table: str
    batch: BatchId
    manifests: tuple[WriteManifest, ...]

    def load(self, connection: Connection, columns: Sequence[str], target: str) -> None:
        """Bring the accepted rows into `target`, after checking that they are what was accepted."""
        self._verify(connection)
        names = ", ".join(map(quote, columns))
        source = f"FROM {quote_table(self.table)} WHERE {_CHOSEN}"
        statement = text(f"INSERT INTO {quote(target)} ({names}) SELECT {names} {source}").bindparams(_IDS)
        for parameters in self._parameters():
            connection.execute(statement, parameters)

    def read(self, connection: Connection, schema: pa.Schema, dialect: Dialect) -> list[tuple[object, ...]]:
        """Return the accepted rows, packed, after checking that they are what was accepted."""
        self._verify(connection)
        names = ", ".join(map(quote, schema.names))
        packed = dialect.packed(f"SELECT {names} FROM {quote_table(self.table)} WHERE {_CHOSEN}", schema.types)
        statement = text(packed).bindparams(_IDS)
        return [row for parameters in self._parameters() for row in fetched(connection, statement, parameters)]

    def _verify(self, connection: Connection) -> None:
        statement = text(
            f"SELECT {WRITE_ID}, count(*), sum({DIGEST} & 4294967295), sum(({DIGEST} >> 32) & 4294967295), "
            f"bit_xor({DIGEST}) FROM {quote_table(self.table)} WHERE {_CHOSEN} GROUP BY {WRITE_ID}"
        ).bindparams(_IDS)
        rows = [row for parameters in self._parameters() for row in connection.execute(statement, parameters)]
        found = {row[0]: Digest(int(row[1]), int(row[2]), int(row[3]), int(row[4])) for row in rows}
        for manifest in self.manifests:
            self._compare(manifest, found.get(manifest.write_id, Digest()))

    def _compare(self, manifest: WriteManifest, found: Digest) -> None:
        if found == manifest.digest:
            return
        what = f"{found.count} rows where {manifest.rows} were accepted"
        if found.count == manifest.rows:
            what = f"other rows than the {manifest.rows} accepted ones"
        raise StagingLostError(
            f"{self.batch}: staging table {self.table!r} holds {what} for write {manifest.write_id}; "
            "nothing was applied, the stored state is unchanged"
        )

    def _parameters(self) -> Iterator[dict[str, object]]:
        """Yield what the statements need, for so many writes at a time as every server takes parameters."""
        ids = sorted({manifest.write_id for manifest in self.manifests})
        for first in range(0, len(ids), _MOST_IDS):
            writes = ids[first : first + _MOST_IDS]
            yield {"txid": self.batch.txid, "attempt": self.batch.attempt, "writes": writes}


_MOST_IDS = 10_000
_CHOSEN = f"{TXID} = :txid AND {ATTEMPT} = :attempt AND {WRITE_ID} IN :writes"
_IDS: BindParameter[list[str]] = bindparam("writes", expanding=True)
