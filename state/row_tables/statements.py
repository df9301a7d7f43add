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
_KIND = "trident_kind"
_KEPT, _FRESH, _REPLACES = 0, 1, 2
_BEFORE = "trident_before_"


@dataclass(frozen=True, slots=True)
class RowStatements:
    """The statements of one sink; `source` is the temporary table, quoted."""

    shape: RowShape
    source: str
    converted: Mapping[str, str]
    """For each column that is written how its staged value is put into the table's type, `{}` being the value."""
    told_apart: Mapping[str, str]
    """For each of them how two values of the table's type are compared."""

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
                return (_end_versions(self), _begin_versions(self))

    def unordered(self) -> str | None:
        """Return the SELECT of a key with several rows of which nothing says which one came last."""
        if self.shape.write is RowWrite.APPEND:
            return None
        return (
            f"SELECT 1 FROM {self.source} AS s WHERE s.{quote(ORDER)} IS NULL GROUP BY {self._found_by} "
            "HAVING count(*) > 1 LIMIT 1"
        )

    def expected(self) -> str | None:
        """Return the SELECT of how many rows the last statement should write, asked before; None: the table tells."""
        match self.shape.write:
            case RowWrite.UPSERT if self.shape.values:
                kept = "TRUE" if self._deletes is None else f"NOT {self._deletes}"
                return f"{self._ranked} SELECT count(*) FROM ranked AS s WHERE s.{_RANK} = 1 AND {kept}"
            case RowWrite.VERSIONS if self.shape.values:
                return _count_versions(self)
        return None

    def left_out(self) -> str | None:
        """Return the SELECT of how many rows are not as they were written: keys that are absent, or still there.

        Of versions those that do not end where the next one begins.
        """
        if self.shape.write is RowWrite.APPEND:
            return None
        if self.shape.write is RowWrite.VERSIONS:
            return (
                f"{_versions(self)} SELECT count(*) FROM around AS a JOIN {self.shape.quoted} AS t ON "
                f"{_equal(self.shape.found_by, 'a', 't')} WHERE t.{quote(self.shape.valid_to or '')} > a.trident_next "
                f"OR (t.{quote(self.shape.valid_to or '')} IS NULL AND a.trident_next IS NOT NULL)"
            )
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
        """Return what pairs a staged row with one of the table; by the first one's collation, where SQLite has two."""
        return all_of([f"{self.staged(name)} = t.{quote(name)}" for name in names])

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


def _versions(of: RowStatements) -> str:
    """Return the queries that both statements about versions begin with: `around` has the versions of the batch's keys.

    A fresh one takes the place of one that begins when it does. `trident_next` is when the one after it begins.
    """
    shape = of.shape
    written, keys, found_by = _list(shape.written), _list(shape.keys), _list(shape.found_by)
    fresh = ", ".join(f"{of.staged(name)} AS {quote(name)}" for name in shape.written)
    window = f"OVER (PARTITION BY {keys} ORDER BY {quote(shape.valid_from or '')})"
    lags = [f"lag({quote(name)}) {window} AS {_BEFORE}{number}" for number, name in enumerate(shape.values)]
    return (
        f"{of._ranked}, fresh AS (SELECT {fresh} FROM ranked AS s WHERE s.{_RANK} = 1), "
        f"there AS (SELECT {_list(shape.written, 't.')} FROM {shape.quoted} AS t "
        f"WHERE ({_list(shape.keys, 't.')}) IN (SELECT {keys} FROM fresh)), "
        f"together AS (SELECT {written}, {_KEPT} AS {_KIND} FROM there WHERE ({found_by}) NOT IN "
        f"(SELECT {found_by} FROM fresh) UNION ALL SELECT {written}, CASE WHEN ({found_by}) IN "
        f"(SELECT {found_by} FROM there) THEN {_REPLACES} ELSE {_FRESH} END AS {_KIND} FROM fresh), "
        f"compared AS (SELECT together.*, {', '.join([*lags, f'lag(1) {window} AS {_BEFORE}any'])} FROM together), "
        f"around AS (SELECT c.*, lead({quote(shape.valid_from or '')}) {window} AS trident_next, "
        f"lead({_KIND}) {window} AS trident_next_kind FROM compared AS c WHERE {_is_written(of)})"
    )


def _is_written(of: RowStatements) -> str:
    """Return the condition of a version `c`; where those that say nothing new are skipped, that it is none of them."""
    shape = of.shape
    if not shape.skip_unchanged:
        return "TRUE"
    same = [f"c.{_KIND} = {_FRESH}", f"c.{_BEFORE}any = 1"]
    for number, name in enumerate(shape.values):
        now, then = f"c.{quote(name)}", f"c.{_BEFORE}{number}"
        equal = f"{of.told_apart[name].format(now)} = {of.told_apart[name].format(then)}"
        same.append(f"({equal} OR ({now} IS NULL AND {then} IS NULL))")
    return f"({all_of(same)}) IS NOT TRUE"


def _end_versions(of: RowStatements) -> str:
    """Return the UPDATE that lets versions end where new ones begin; none becomes valid for longer than it was.

    Also one that is said again in the batch that brings the next: its values change after this, its end does not.
    It comes before these are there: a table may have an index that lets no key have two current versions.
    """
    shape, ends = of.shape, quote(of.shape.valid_to or "")
    return (
        f"{_versions(of)} UPDATE {shape.quoted} AS t SET {ends} = a.trident_next FROM around AS a "
        f"WHERE a.{_KIND} <> {_FRESH} AND a.trident_next_kind <> {_KEPT} AND {_equal(shape.found_by, 'a', 't')} "
        f"AND (t.{ends} IS NULL OR t.{ends} > a.trident_next)"
    )


def _begin_versions(of: RowStatements) -> str:
    """Return the INSERT of the versions that a batch brings."""
    shape, ends = of.shape, quote(of.shape.valid_to or "")
    return (
        f"{_versions(of)} INSERT INTO {shape.quoted} ({_list(shape.written)}, {ends}) "
        f"SELECT {_list(shape.written, 'a.')}, a.trident_next FROM around AS a WHERE a.{_KIND} <> {_KEPT} "
        f"{of._or_change}"
    )


def _count_versions(of: RowStatements) -> str:
    """Return the SELECT of how many versions a batch brings, to be asked before they are there."""
    return f"{_versions(of)} SELECT count(*) FROM around AS a WHERE a.{_KIND} <> {_KEPT}"


def _list(names: Sequence[str], before: str = "") -> str:
    return ", ".join(f"{before}{quote(name)}" for name in names)


def _equal(names: Sequence[str], one: str, other: str) -> str:
    return all_of([f"{one}.{quote(name)} = {other}.{quote(name)}" for name in names])
