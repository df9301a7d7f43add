"""Steps given as Spark columns: evaluated inside the JVM, for records only."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from trident.base.audit import DONE, ID
from trident.base.control import CONTROL
from trident.base.errors import ConfigurationError
from trident.base.order import ORDER
from trident.operations.accounting import Account, done_instead, is_audited, made_id
from trident.operations.base import (
    BATCH_TIME,
    HIDDEN,
    BatchContext,
    Fields,
    check_columns,
    check_new_names,
    control,
    field,
    guarded,
    hidden,
    order,
    text_of,
    uses_batch_time,
    with_batch_time,
)

_POSITION = "__trident_position"
_COUNT = "__trident_count"


class FilterColumn:
    """Keeps the records for which the condition is true (null is not)."""

    verb = "filter"
    makes_groups = False
    runs_user_code = False
    account = Account.SELECTS

    def __init__(self, condition: Column, check: Callable[[Fields], None] = lambda fields: None) -> None:
        self._check = check
        self._told = text_of(condition)
        self._uses_time = uses_batch_time(self.verb, [condition])
        self._kept = F.when(control().isNull(), condition).otherwise(True)

    def check(self, fields: Fields) -> None:
        """As whoever made the condition says; Spark checks the rest."""
        self._check(fields)

    def told(self) -> str:
        """Return the condition."""
        return self._told

    def lower(self, frame: DataFrame, batch: BatchContext) -> DataFrame:
        """See `Operation.lower`."""
        if self._uses_time:
            return self._filtered(with_batch_time(frame, batch)).drop(BATCH_TIME)
        return self._filtered(frame)

    def _filtered(self, frame: DataFrame) -> DataFrame:
        return done_instead(frame, self._kept) if is_audited(frame) else frame.filter(self._kept)


class EachColumns:
    """Adds a field per expression; the expressions see the fields that were there before."""

    verb = "each"
    makes_groups = False
    runs_user_code = False
    account = Account.KEEPS

    def __init__(self, columns: dict[str, Column]) -> None:
        check_columns(columns, self.verb)
        self._names = tuple(columns)
        self._told = _told(columns)
        self._uses_time = uses_batch_time(self.verb, list(columns.values()))
        self._added = {name: guarded(column) for name, column in columns.items()}

    def check(self, fields: Fields) -> None:
        """The new names must be new."""
        fields.refuse(self._names, self.verb)

    def told(self) -> str:
        """Return the new fields and what they are."""
        return self._told

    def lower(self, frame: DataFrame, batch: BatchContext) -> DataFrame:
        """See `Operation.lower`."""
        if self._uses_time:
            return with_batch_time(frame, batch).withColumns(self._added).drop(BATCH_TIME)
        return frame.withColumns(self._added)


class MapColumns:
    """Replaces all fields by one per expression."""

    verb = "map"
    makes_groups = False
    runs_user_code = False
    account = Account.KEEPS

    def __init__(self, columns: dict[str, Column]) -> None:
        check_columns(columns, self.verb)
        self._told = _told(columns)
        self._uses_time = uses_batch_time(self.verb, list(columns.values()))
        self._selected = [guarded(column).alias(name) for name, column in columns.items()]

    def check(self, fields: Fields) -> None:
        """Nothing to check before Spark does."""

    def told(self) -> str:
        """Return the fields and what they are."""
        return self._told

    def lower(self, frame: DataFrame, batch: BatchContext) -> DataFrame:
        """See `Operation.lower`."""
        source = with_batch_time(frame, batch) if self._uses_time else frame
        return source.select(*self._selected, *hidden(frame))


class FlatMapColumn:
    """Makes a row of each element of an array, none of an empty or missing one; `keeps` the record's own fields."""

    makes_groups = False
    runs_user_code = False
    account = Account.MAKES

    def __init__(self, columns: dict[str, Column], verb: str = "flat_map", *, keeps: bool = False) -> None:
        self.verb = verb
        check_columns(columns, verb)
        if len(columns) != 1:
            raise ConfigurationError(f"{verb} takes one array column, not {len(columns)}; put several into a struct")
        ((name, column),) = columns.items()
        self._told = _told(columns)
        self._uses_time = uses_batch_time(verb, [column])
        self._name = name
        self._keeps = keeps
        self._column = column

    def check(self, fields: Fields) -> None:
        """A name beside fields that stay must be new; Spark checks the rest."""
        if self._keeps:
            fields.refuse((self._name,), self.verb)

    def told(self) -> str:
        """Return the field and the array that its values are of."""
        return self._told

    def lower(self, frame: DataFrame, batch: BatchContext) -> DataFrame:
        """See `Operation.lower`."""
        source = with_batch_time(frame, batch) if self._uses_time else frame
        own = [name for name in frame.columns if self._keeps and name not in HIDDEN]
        return exploded(source, self._column, self._name, own)


def exploded(frame: DataFrame, array: Column, name: str, own: Sequence[str]) -> DataFrame:
    """Return a row for each element of an array, none of an empty or missing one, with these fields of the record."""
    # a control row gets an array of one null, so that it comes out of explode once, as it went in
    elements = F.when(control().isNull(), array).otherwise(F.array(F.lit(None)))
    kept = [field(each) for each in own]
    if is_audited(frame):
        rows = _accounted(frame, array, name, kept)
    else:
        rows = frame.select(*kept, F.posexplode(elements).alias(_POSITION, name), *hidden(frame))
    if ORDER in frame.columns:
        level = F.unhex(F.lpad(F.hex(field(_POSITION)), 8, "0"))
        rows = rows.withColumn(ORDER, F.concat(order(), level))
    return rows.select(*kept, field(name), *hidden(frame))


def _accounted(frame: DataFrame, array: Column, name: str, kept: Sequence[Column]) -> DataFrame:
    """Return the rows of `exploded` with ids, and before those of a record a mark that says how many there are."""
    is_record, nothing = control().isNull(), F.array(F.lit(None))
    count = F.greatest(F.coalesce(F.size(array), F.lit(0)), F.lit(0))  # of a missing array it may be -1
    elements = F.when(is_record & (count > 0), F.concat(nothing, array)).otherwise(nothing)
    said = F.when(is_record, count).alias(_COUNT)
    rows = frame.select(*kept, said, F.posexplode(elements).alias(_POSITION, name), *hidden(frame))
    position = field(_POSITION)
    mark = F.when(is_record & (position == 0), F.concat(F.lit(DONE), field(_COUNT).cast("string")))
    changed = {
        CONTROL: F.coalesce(control(), mark),
        ID: F.when(is_record & (position > 0), made_id(position)).otherwise(field(ID)),
        _POSITION: position - 1,
    }
    return rows.withColumns(changed)


@dataclass(frozen=True, slots=True)
class Project:
    """Keeps the named fields, in the given order."""

    fields: tuple[str, ...]

    @property
    def verb(self) -> str:
        """The DSL's word."""
        return "project"

    @property
    def makes_groups(self) -> bool:
        """A row is of the record that it was of."""
        return False

    @property
    def runs_user_code(self) -> bool:
        """None."""
        return False

    @property
    def account(self) -> Account:
        """Every record is passed on."""
        return Account.KEEPS

    def check(self, fields: Fields) -> None:
        """Every field must be there, and be named once."""
        if not self.fields:
            raise ConfigurationError("project needs at least one field")
        for name in self.fields:
            fields.require(name, self.verb)
        check_new_names(self.fields, self.verb)

    def told(self) -> str:
        """Return the names."""
        return ", ".join(self.fields)

    def lower(self, frame: DataFrame, batch: BatchContext) -> DataFrame:
        """See `Operation.lower`."""
        return frame.select(*(field(name) for name in self.fields), *hidden(frame))


@dataclass(frozen=True)
class Rename:
    """Gives fields other names and leaves them where they are; names may change places."""

    names: Mapping[str, str]

    verb = "rename"
    makes_groups = False
    runs_user_code = False
    account = Account.KEEPS

    def check(self, fields: Fields) -> None:
        """The old names must be there, and the new ones differ from all that stay."""
        if not self.names:
            raise ConfigurationError("rename needs at least one field, as in rename(old='new')")
        for name in self.names:
            fields.require(name, self.verb)
        check_new_names([self.names.get(name, name) for name in fields.names], self.verb)

    def told(self) -> str:
        """Return the old names and the new ones."""
        return ", ".join(f"{old} to {new}" for old, new in self.names.items())

    def lower(self, frame: DataFrame, batch: BatchContext) -> DataFrame:
        """See `Operation.lower`."""
        kept = [field(name).alias(self.names.get(name, name)) for name in frame.columns if name not in HIDDEN]
        return frame.select(*kept, *hidden(frame))


def _told(columns: Mapping[str, Column]) -> str:
    return ", ".join(f"{name} = {text_of(column)}" for name, column in columns.items())
