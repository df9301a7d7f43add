"""Makes the tables of a state, or checks those that are there against what the aggregation needs."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, text

from trident.base.errors import MismatchError
from trident.state.databases.base import HasSchemas
from trident.state.tables.dialect import Dialect, FoundColumn, run_all
from trident.state.tables.growing import add_missing, add_to, check_coming
from trident.state.tables.names import KEY_INDEX, STAGING, helper_table, quote_table
from trident.state.tables.place import SqlPlace, TablePlace
from trident.state.tables.shape import ColumnSpec, TableShape
from trident.state.tables.staging import CONTROL_SPECS
from trident.state.tables.versions import META_TABLES


def prepare_tables(connection: Connection, place: TablePlace) -> None:
    """Make what is missing and check the rest; raises MismatchError naming column, wanted and found type."""
    prepare_place(connection, place)
    check_coming(connection, place)
    add_missing(connection, place)
    place.was_missing = prepare_values(connection, place.dialect, place.shape)
    prepare_staging(connection, place, place.empty)


def prepare_place(connection: Connection, place: SqlPlace) -> None:
    """Make the tables that every SQL store keeps; raises MismatchError when another target has the place."""
    place.dialect.check_server(connection)
    META_TABLES.migrate(connection, place.database.schema_terms)
    _refuse_shared(connection, place)
    # else it was there first; and where tables have numbers a note of one that is gone holds nothing, and is not ours
    if not place.applied.holders(connection) and not isinstance(place.database, HasSchemas):
        place.ownership.release_if_missing(connection, "", "")


def _refuse_shared(connection: Connection, place: SqlPlace) -> None:
    """Raise MismatchError when another state has this table or its staging table; asked before anything is made."""
    for topology, state in place.applied.holders(connection):
        if state != place.name:
            raise MismatchError(
                f"table {place.table!r} belongs to state {state!r} of topology {topology!r}, not to state "
                f"{place.name!r}; nothing was changed: use another table{place.applied.or_restored}"
            )
    for topology, state, table in place.applied.others(connection):
        if helper_table(STAGING, table) == place.staging:
            raise MismatchError(
                f"table {place.table!r} would have the staging table {place.staging!r} that table {table!r} has, "
                f"of state {state!r} of topology {topology!r}; nothing was changed: use another table's name"
            )


def prepare_values(connection: Connection, dialect: Dialect, shape: TableShape) -> bool:
    """Make the table or check the one that is there; returns whether it was missing."""
    specs = shape.columns(dialect.column_type)
    found = dialect.find_columns(connection, shape.table)
    if found is None:
        refuse_renamed(connection, dialect, shape.table)
        run_all(connection, dialect.create_table(shape, specs))
        return True
    problem = dialect.unfit(connection, shape.table) or difference(specs, found)
    if problem:
        raise MismatchError(f"table {shape.table!r} is not what the aggregation needs: {problem}; nothing was changed")
    keys = [key.name for key in shape.keys]
    by_other = [column for column in found if column.name in keys and column.collation]
    if by_other:
        raise MismatchError(
            f"table {shape.table!r}: key column {by_other[0].name!r} has the collation {by_other[0].collation!r}, and "
            'keys are compared by their bytes: give it COLLATE "C"; nothing was changed'
        )
    if keys and not dialect.has_unique_index(connection, shape.table, keys):
        wanted = ", ".join(keys)
        raise MismatchError(
            f"table {shape.table!r} needs a unique index over ({wanted}), by bytes where they are texts; "
            "nothing was changed"
        )
    return False


def refuse_renamed(connection: Connection, dialect: Dialect, table: str) -> None:
    """Raise MismatchError where a table is missing and its index is there, on another one: that is what it is now."""
    index = helper_table(KEY_INDEX, table)
    holder = dialect.index_holder(connection, table, index)
    if holder is not None:
        raise MismatchError(
            f"table {table!r} is missing, and its index {index!r} is on table {holder!r}: it was renamed. Nothing was "
            f"changed: give it its name back; if {holder!r} is to stay another table, rename that index too"
        )


def prepare_staging(connection: Connection, place: SqlPlace, empty: frozenset[str] = frozenset()) -> None:
    """Make the staging table, or one of this layout in place of an empty one; raises MismatchError for other rows.

    What lies there of a version without the columns that nothing can be in yet has nothing for them.
    """
    dialect, staging = place.dialect, place.staging
    layout = [ColumnSpec(column.name, dialect.column_type(column.type), True) for column in place.schema]
    specs = [*CONTROL_SPECS, *layout]
    if empty:
        add_to(connection, dialect, staging, [spec for spec in layout if spec.name in empty])
    found = dialect.find_columns(connection, staging)
    if found is not None:
        names = {spec.name for spec in specs}
        found = tuple(column for column in found if column.name in names or column.name not in empty)
    problem = None if found is None else difference(specs, found)
    surplus = None if found is None else _surplus(specs, found)
    if problem or surplus:
        if connection.execute(text(f"SELECT 1 FROM {quote_table(staging)} LIMIT 1")).first():
            raise MismatchError(
                f"staging table {staging!r} holds rows of another layout: {problem or surplus}; "
                "let the version that wrote them finish, or drop the table if no batch of it is pinned"
            )
        if problem:  # else it does no harm, and may be of a newer version that has taken over meanwhile
            connection.execute(text(f"DROP TABLE {quote_table(staging)}"))
            found = None
    if found is None:
        run_all(connection, dialect.create_staging(staging, specs, place.apart))
    elif place.apart:
        dialect.make_durable(connection, staging)


def difference(specs: Sequence[ColumnSpec], found: Sequence[FoundColumn]) -> str | None:
    """Return, in words, how the columns that are there differ from those that are needed; more than those may be."""
    there = {column.name: column for column in found}
    for spec in specs:
        column = there.pop(spec.name, None)
        if column is None:
            return f"column {spec.name!r} is missing, wanted {spec.type}"
        if column.type != spec.type:
            return f"column {spec.name!r} is {column.type}, wanted {spec.type}"
        if column.is_generated:
            return f"column {spec.name!r} is generated by the database, and has to be written"
    unfilled = [column.name for column in there.values() if column.needs_value]
    return f"column {unfilled[0]!r} needs a value that no aggregate gives" if unfilled else None


def _surplus(specs: Sequence[ColumnSpec], found: Sequence[FoundColumn]) -> str | None:
    """Return, in words, a column that holds values which nobody would read."""
    more = [column.name for column in found if column.name not in {spec.name for spec in specs}]
    return f"column {more[0]!r} is no column of it any more" if more else None
