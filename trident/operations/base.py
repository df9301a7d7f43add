"""What an operation is, and the rule that all of them keep: control rows come out as they went in, each once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final, Protocol, runtime_checkable

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import CharType, DoubleType, FloatType, StructField, StructType, VarcharType

from trident.base.audit import ID
from trident.base.checks import check_text, may_hold_a_secret, refused
from trident.base.control import CONTROL
from trident.base.errors import ConfigurationError, FieldError
from trident.base.order import ORDER
from trident.base.partitions import PARTITION
from trident.base.trees import ROOTS
from trident.operations.moments import refuse_moments, refuse_variables
from trident.operations.needs import NO_NEEDS, TaskNeeds

RESERVED_PREFIX = "__trident"
BATCH_TIME = "__trident_time"
"""The hidden column that `batch_time()` names; it is there only while an expression that uses it is evaluated."""

HIDDEN: Final = (ORDER, PARTITION, ID, ROOTS, CONTROL)
"""The columns that go along without being fields."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class BatchContext:
    """What a lowering may know of the batch: the planned time, the same in every job of an attempt."""

    batch_time: datetime
    txid: int = 0
    """The same for each attempt. A frame asks for it by `number`, so that no plan that holds it is kept."""
    is_diverted: bool = False
    """Whether its rows are only kept for a person, so that a value that can't be held is left out of them."""
    needs: TaskNeeds = NO_NEEDS
    """How the operation that is lowered is to run."""
    place: str = ""
    """Which run of the operation it is, where it says what becomes of messages; empty: nobody asks."""
    in_runs: frozenset[object] = frozenset()
    """The operations whose functions may be given all neighbours of a task at once, although order counts."""

    def literal(self) -> Column:
        """Return the planned time as a timestamp, exact to the microsecond."""
        return F.timestamp_micros(F.lit((self.batch_time - _EPOCH) // timedelta(microseconds=1)))

    def number(self) -> int:
        """Return the txid, for an expression."""
        return self.txid


UNHELD = "trident refuses: "
"""How the text begins that an expression of this library's raises about a value that no state can hold."""
UNCOMPUTABLE = "trident can't compute: "
"""How it begins where no state is asked: something of a record makes no sense, and another version has to mend it."""
BUILD_CONTEXT = BatchContext(_EPOCH)
"""Stands for a batch while a topology is built and checked."""


class Operation(Protocol):
    """One step of a stream that takes control rows along.

    Immutable, shared by all batches, called from several threads at once.
    """

    @property
    def verb(self) -> str:
        """The DSL's word for it, for error messages."""

    @property
    def makes_groups(self) -> bool:
        """Whether its rows are of no single record any more."""

    @property
    def runs_user_code(self) -> bool:
        """Whether a user's Python function makes its rows: whoever shares them must be given those of one run of it."""

    def check(self, fields: Fields) -> None:
        """Raise `FieldError` or `ConfigurationError` when it can't follow a stream with these fields."""

    def lower(self, frame: DataFrame, batch: BatchContext) -> DataFrame:
        """Return the frame after this step: rows without control word changed, control rows as they were."""


class RecordOperation(Protocol):
    """One step on the records of one or several streams; control rows go round it, so that it never sees any.

    Joins, unions and repartitionings are of this kind. Immutable, shared by all batches, called from several
    threads at once.
    """

    @property
    def verb(self) -> str:
        """The DSL's word for it, for error messages."""

    @property
    def wants_order(self) -> bool:
        """Whether what it makes depends on the order of its records, so that they must come with it."""

    @property
    def runs_user_code(self) -> bool:
        """See `Operation.runs_user_code`."""

    def result(self, schemas: Sequence[StructType]) -> StructType:
        """Return the fields after this step; raises `ConfigurationError` where the inputs do not suit."""

    def lower(self, frames: Sequence[DataFrame], batch: BatchContext) -> DataFrame:
        """Return the frame after this step; neither it nor the frames that are given have the control column."""


@runtime_checkable
class Told(Protocol):
    """An operation that says what it was given, for `Topology.explain`; one that does not is known by its verb."""

    def told(self) -> str:
        """Return what stands behind the verb: expressions, functions, fields; empty for nothing."""


@dataclass(frozen=True, slots=True)
class Fields:
    """The fields that a stream has at one place, and the questions that operations ask of them."""

    schema: StructType
    """Without the control column."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names in order."""
        return tuple(self.schema.names)

    def require(self, name: str, asked_by: str) -> None:
        """Raise `FieldError` unless the field is there under exactly this name."""
        if check_field(asked_by, name) not in self.schema.names:
            if may_hold_a_secret(name):
                raise refused(f"{asked_by}: a field", "the name of a field of the stream", name)
            raise FieldError(f"{asked_by} names a field that the stream does not have", name, self.names)

    def refuse(self, names: Sequence[str], asked_by: str) -> None:
        """Raise `FieldError` when one of the new names is there already (Spark ignores upper and lower case)."""
        known = {name.lower() for name in self.names}
        for name in names:
            if name.lower() in known:
                raise FieldError(f"{asked_by} would add a field that is there already", name, self.names)


def check_field(asked_by: str, name: object) -> str:
    """Return the name of a field; a Spark column is none, since results are compared and stored by names."""
    if isinstance(name, Column):
        raise ConfigurationError(
            f"{asked_by} takes the name of a field, not a Spark column: make a field of the column first, with "
            f"each(name=column), then {asked_by} by that name"
        )
    return check_text(f"{asked_by}: a field", name, allowed="the name of a field")


def check_new_names(names: Sequence[str], asked_by: str) -> None:
    """Refuse empty, reserved and repeated field names."""
    seen: set[str] = set()
    for name in names:
        if not name:
            raise ConfigurationError(f"{asked_by}: a field needs a name")
        if name.lower().startswith(RESERVED_PREFIX):
            raise ConfigurationError(f"{asked_by}: {name!r} is reserved, no field may start with {RESERVED_PREFIX!r}")
        if name.lower() in seen:
            raise ConfigurationError(f"{asked_by} names the field {name!r} twice (case does not tell fields apart)")
        seen.add(name.lower())


def check_comparable(given: StructField, asked_by: str) -> None:
    """Refuse texts that are compared by something else than their bytes: which of two equal ones is kept is chance."""
    type_ = given.dataType.simpleString().lower()
    if " collate " in type_:
        raise ConfigurationError(
            f"{asked_by} can't tell values of the field {given.name!r} apart: it is {type_}, and every store compares "
            "texts by their bytes; collate it as UTF8_BINARY, and lower() it if case is to make no difference"
        )
    if isinstance(given.dataType, CharType | VarcharType):
        raise ConfigurationError(
            f"{asked_by} can't tell values of the field {given.name!r} apart: it is {type_}, which Spark pads and "
            "cuts; cast it to string"
        )


def field(name: str) -> Column:
    """Return the column of exactly this name, dots and backticks included."""
    return F.col("`" + name.replace("`", "``") + "`")


def control() -> Column:
    """Return the control column."""
    return field(CONTROL)


def order() -> Column:
    """Return the order column."""
    return field(ORDER)


def text_of(expression: Column) -> str:
    """Return an expression as Spark writes it."""
    return str(expression).removeprefix("Column<'").removesuffix("'>")


def hidden(frame: DataFrame) -> list[Column]:
    """Return the columns that go along without being fields: order, partition, id where there are such; control."""
    return [field(name) for name in HIDDEN if name in frame.columns]


def guarded(expression: Column) -> Column:
    """Return the expression for records and null, without evaluating it, for control rows."""
    return F.when(control().isNull(), expression)


def nullable(fields: Sequence[StructField]) -> StructType:
    """Return the fields as a Python task returns them: a control row is null in each, a count too."""
    return StructType([StructField(old.name, old.dataType) for old in fields])


def with_one_zero(frame: DataFrame) -> DataFrame:
    """Return the frame without negative zeros among its fields, as states hold floats.

    The two are equal, so of least values, sets and sorted lists the order of records would say which one is shown.
    """
    floats = [each for each in frame.schema.fields if isinstance(each.dataType, FloatType | DoubleType)]
    if not floats:
        return frame
    return frame.withColumns({each.name: field(each.name) + F.lit(0.0).cast(each.dataType) for each in floats})


def uses_batch_time(verb: str, expressions: Sequence[Column]) -> bool:
    """Whether an expression names the hidden column of `batch_time()`.

    Raises `ConfigurationError` for a literal such as `TIMESTAMP 'now'`, of which a plan shows no more than a moment.
    """
    texts = [str(expression) for expression in expressions]
    refuse_moments(verb, texts)
    refuse_variables(verb, texts, lambda name: SparkSession.active().conf.get(name, None) is not None)
    return any(BATCH_TIME in text for text in texts)


def with_batch_time(frame: DataFrame, batch: BatchContext) -> DataFrame:
    """Return the frame with the hidden time column; the step that uses it drops it again."""
    return frame.withColumn(BATCH_TIME, batch.literal())


def check_columns(columns: dict[str, Column], asked_by: str) -> None:
    """Refuse anything but Spark columns, and field names that can't be."""
    for name, column in columns.items():
        if not isinstance(column, Column):
            raise ConfigurationError(
                f"{asked_by}: {name!r} must be a Spark column such as F.col(...) or F.lit(...), "
                f"not {type(column).__name__}"
            )
    check_new_names(tuple(columns), asked_by)
