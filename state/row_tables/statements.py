"""The SQL that writes a batch's rows: they lie in a temporary table `s`, the sink's own is `t`.

Of several rows of one key the order of the stream decides, so a batch is ranked before it is written: no statement
meets a row of the table twice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from trident.base.order import ORDER
from trident.state.row_tables.shape import RowShape, RowWrite
from trident.state.tables.merge import all_of
from trident.state.tables.names import quote

_RANK = "trident_rank"
_IS_NEW = "trident_is_new"
_BEFORE = "trident_before_"


@dataclass(frozen=True, slots=True)
class RowStatements:
    """The statements of one sink; `source` is the temporary table, quoted."""

    shape: RowShape
    source: str
    converted: Mapping[str, str]
    """For each column that is written how its staged value is put into the table's type, `{}` being the value."""

    def writes(self) -> tuple[str, ...]:
        """Return the statements that write a batch, in their order."""
        deletes = self._deletes
        match self.shape.write:
            case RowWrite.APPEND:
                return (f"{self._insert} SELECT {self._values} FROM {self.source} AS s",)
            case RowWrite.UPSERT if deletes is None:
                return (self._upsert("TRUE"),)
            case RowWrite.UPSERT:
                return (self._delete(f"{deletes}"), self._upsert(f"NOT {deletes}"))
            case RowWrite.INSERT_IF_ABSENT:
                insert = f"{self._ranked} {self._insert} {self._first('TRUE')}"
                return (f"{insert} ON CONFLICT ({_list(self.shape.found_by)}) DO NOTHING",)
            case RowWrite.DELETE:
                return (self._delete("TRUE"),)
            case RowWrite.VERSIONS:
                return (_begin_versions(self), _end_versions(self))

    def unordered(self) -> str | None:
        """Return the SELECT of a key with several rows of which nothing says which one came last."""
        if self.shape.write is RowWrite.APPEND:
            return None
        return (
            f"SELECT 1 FROM {self.source} AS s WHERE s.{quote(ORDER)} IS NULL GROUP BY {self._found_by} "
            "HAVING count(*) > 1 LIMIT 1"
        )

    def left_out(self) -> str | None:
        """Return the SELECT of how many keys are not in the table, or still are, after a batch was written."""
        if self.shape.write is RowWrite.APPEND:
            return None
        there = f"EXISTS (SELECT 1 FROM {self.shape.quoted} AS t WHERE {self.same(self.shape.keys)})"
        wrong = f"NOT {there}"
        if self.shape.write is RowWrite.DELETE:
            wrong = there
        elif self._deletes is not None:
            wrong = f"(({self._deletes} AND {there}) OR (NOT {self._deletes} AND NOT {there}))"
        return f"{self._ranked} SELECT count(*) FROM ranked AS s WHERE s.{_RANK} = 1 AND {wrong}"

    def staged(self, name: str) -> str:
        """Return the value of a staged row as the table's column takes it."""
        return self.converted[name].format(f"s.{quote(name)}")

    def same(self, names: Sequence[str]) -> str:
        """Return what pairs a row of the table with a staged one."""
        return all_of([f"t.{quote(name)} = {self.staged(name)}" for name in names])

    @property
    def _deletes(self) -> str | None:
        return None if self.shape.deleted is None else f"s.{quote(self.shape.deleted)}"

    @property
    def _insert(self) -> str:
        return f"INSERT INTO {self.shape.quoted} ({_list(self.shape.written)})"

    @property
    def _values(self) -> str:
        return ", ".join(map(self.staged, self.shape.written))

    @property
    def _found_by(self) -> str:
        return ", ".join(map(self.staged, self.shape.found_by))

    @property
    def _ranked(self) -> str:
        """The batch's rows, 1 being the rank of the one that counts for what it is found by."""
        direction = "ASC" if self.shape.write is RowWrite.INSERT_IF_ABSENT else "DESC"
        rank = f"row_number() OVER (PARTITION BY {self._found_by} ORDER BY s.{quote(ORDER)} {direction})"
        return f"WITH ranked AS (SELECT s.*, {rank} AS {_RANK} FROM {self.source} AS s)"

    @property
    def _or_change(self) -> str:
        changes = ", ".join(f"{quote(name)} = excluded.{quote(name)}" for name in self.shape.values)
        return f"ON CONFLICT ({_list(self.shape.found_by)}) DO {f'UPDATE SET {changes}' if changes else 'NOTHING'}"

    def _first(self, condition: str) -> str:
        return f"SELECT {self._values} FROM ranked AS s WHERE s.{_RANK} = 1 AND {condition}"

    def _upsert(self, condition: str) -> str:
        return f"{self._ranked} {self._insert} {self._first(condition)} {self._or_change}"

    def _delete(self, condition: str) -> str:
        chosen = f"SELECT 1 FROM ranked AS s WHERE s.{_RANK} = 1 AND {condition} AND {self.same(self.shape.keys)}"
        return f"{self._ranked} DELETE FROM {self.shape.quoted} AS t WHERE EXISTS ({chosen})"


def _begin_versions(of: RowStatements) -> str:
    """Return the INSERT of versions that say something else than the one before them.

    One that begins when another does takes its place, and says it even so: what follows is compared with it.
    """
    shape = of.shape
    fresh = ", ".join(f"{of.staged(name)} AS {quote(name)}" for name in shape.written)
    replaces = f"SELECT 1 FROM {shape.quoted} AS t WHERE {_equal(shape.found_by, 't', 'f')}"
    touched = f"SELECT 1 FROM fresh AS f WHERE {_equal(shape.keys, 't', 'f')}"
    window = f"OVER (PARTITION BY {_list(shape.keys)} ORDER BY {quote(shape.valid_from or '')}, {_IS_NEW})"
    lags = [f"lag({quote(name)}) {window} AS {_BEFORE}{number}" for number, name in enumerate(shape.values)]
    lags.append(f"lag(1) {window} AS {_BEFORE}any")
    is_same = [f"a.{_BEFORE}any = 1"]
    for number, name in enumerate(shape.values):
        now, then = f"a.{quote(name)}", f"a.{_BEFORE}{number}"
        is_same.append(f"({now} = {then} OR ({now} IS NULL AND {then} IS NULL))")
    return (
        f"{of._ranked}, fresh AS (SELECT {fresh} FROM ranked AS s WHERE s.{_RANK} = 1), "
        f"kept AS (SELECT {_list(shape.written, 't.')}, 0 AS {_IS_NEW} FROM {shape.quoted} AS t "
        f"WHERE EXISTS ({touched})), "
        f"marked AS (SELECT f.*, CASE WHEN EXISTS ({replaces}) THEN 2 ELSE 1 END AS {_IS_NEW} FROM fresh AS f), "
        "around AS (SELECT * FROM kept UNION ALL SELECT * FROM marked), "
        f"compared AS (SELECT around.*, {', '.join(lags)} FROM around) "
        f"{of._insert} SELECT {_list(shape.written, 'a.')} FROM compared AS a "
        f"WHERE a.{_IS_NEW} > 0 AND (a.{_IS_NEW} = 2 OR ({all_of(is_same)}) IS NOT TRUE) {of._or_change}"
    )


def _end_versions(of: RowStatements) -> str:
    """Return the UPDATE that lets each version of the batch's keys end where the next one begins."""
    shape = of.shape
    begins, ends = quote(shape.valid_from or ""), quote(shape.valid_to or "")
    touched = f"SELECT 1 FROM {of.source} AS s WHERE {of.same(shape.keys)}"
    following = f"lead(t.{begins}) OVER (PARTITION BY {_list(shape.keys, 't.')} ORDER BY t.{begins})"
    return (
        f"WITH n AS (SELECT {_list(shape.found_by, 't.')}, {following} AS trident_next "
        f"FROM {shape.quoted} AS t WHERE EXISTS ({touched})) "
        f"UPDATE {shape.quoted} AS t SET {ends} = n.trident_next FROM n WHERE {_equal(shape.found_by, 't', 'n')} AND "
        f"(t.{ends} <> n.trident_next OR (t.{ends} IS NULL) <> (n.trident_next IS NULL))"
    )


def _list(names: Sequence[str], before: str = "") -> str:
    return ", ".join(f"{before}{quote(name)}" for name in names)


def _equal(names: Sequence[str], one: str, other: str) -> str:
    return all_of([f"{one}.{quote(name)} = {other}.{quote(name)}" for name in names])
