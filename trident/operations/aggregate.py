"""Grouping: one row per group of a batch's records, each control row a group of its own."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, MapType, StringType, StructField, StructType

from trident.base.checks import check_able
from trident.base.control import CONTROL
from trident.base.errors import ConfigurationError
from trident.base.exact import InexactError, exact_array
from trident.base.nested_text import is_told
from trident.operations.accounting import Account, is_audited, summed, sums_of, with_new_ids
from trident.operations.aggregators.base import Aggregation, OneColumn, StoredColumn
from trident.operations.aggregators.by_row import result_field
from trident.operations.aggregators.combiner import Combiner
from trident.operations.aggregators.nested import CombinedTexts, Settling, texts_of
from trident.operations.aggregators.written import Written
from trident.operations.arrow import AnyArray, assemble, bare, split
from trident.operations.base import (
    BatchContext,
    Fields,
    check_comparable,
    check_new_names,
    control,
    field,
    guarded,
    nullable,
    with_one_zero,
)
from trident.operations.given import values_of
from trident.operations.roots import roots_of, roots_of_all
from trident.operations.sending import check_sendable
from trident.operations.tasks import in_python
from trident.spouts.arrow_types import arrow_schema, arrow_type
from trident.state.layout import Value

COPIES = "__trident_copies"
"""How many rows a group had: more than one row with the same control word means that a range was read twice."""
REPEATED = "!"
"""Put before a control word that came more than once: grouping must not hide that a range was read twice."""


class Aggregate:
    """One row per group and batch (without keys, one per batch that has records): keys, then results.

    With `stored` the columns that a state keeps come in place of the results that are shown.
    """

    verb = "aggregate"
    makes_groups = True
    account = Account.GATHERS

    def __init__(self, keys: tuple[str, ...], aggregators: Mapping[str, Aggregation], *, stored: bool = False) -> None:
        self.keys = keys
        self._stored = stored
        self._said = "persistent_aggregate" if stored else self.verb
        self._aggregators = dict(aggregators)
        self._check_aggregators()
        columns = {name: aggregator.columns() for name, aggregator in aggregators.items()}
        if stored:
            _check_kept(columns)
        kept = [(name + column.suffix, column) for name, several in columns.items() for column in several]
        check_new_names((*keys, *(name for name, _ in kept)), self._said)
        self.kept: Mapping[str, StoredColumn] = dict(kept)
        """The columns that a state keeps, by name."""
        self.results: Mapping[str, tuple[tuple[str, ...], Aggregation]] = {
            name: (tuple(name + column.suffix for column in columns[name]), aggregator)
            for name, aggregator in aggregators.items()
        }
        """The columns that each result is shown of, and by what."""
        self._grouping = [*(field(key) for key in keys), control()]
        self._selected = [*(field(name) for name in (*keys, *self.kept)), _words()]
        shows = not stored and not all(isinstance(each, OneColumn) for each in aggregators.values())
        self._shown = self._results_of(columns) if shows else []
        self._combiners = {name: each for name, each in aggregators.items() if isinstance(each, Combiner)}
        self.runs_user_code = bool(self._combiners)

    @property
    def is_one_grouping(self) -> bool:
        """Whether a grouping of Spark's is all that `lower_last` does."""
        return not (self._combiners or self._shown)

    @cached_property
    def nested(self) -> Mapping[str, StructField]:
        """What a state keeps as texts: the values' own fields, by the names of their columns."""
        fields = [result_field(name, combiner) for name, combiner in self._combiners.items()] if self._stored else []
        fields += [each.declared for each in self._aggregators.values() if isinstance(each, Written)]
        return {each.name: each for each in fields if isinstance(each.dataType, ArrayType | StructType | MapType)}

    @cached_property
    def texts(self) -> Mapping[str, pa.DataType]:
        """The same as Arrow types."""
        types = {name: arrow_type(each.dataType) for name, each in self.nested.items()}
        for name, type_ in types.items():
            if not is_told(type_):
                raise ConfigurationError(
                    f"the value {name!r} of a state is of the type {self.nested[name].dataType.simpleString()}, which "
                    "no state can hold: inside are booleans, numbers, strings, binaries, dates and timestamps, and "
                    "keys of maps are neither floats nor arrays, structures or maps"
                )
        return types

    def combine_of(self, name: str) -> Callable[[Value, Value], Value] | None:
        """Return the function that combines two values of a kept column as a state holds them; None for none."""
        if name in self.texts and name in self._combiners:
            return CombinedTexts(self._combiners[name], self.texts[name])
        return self.kept[name].combine

    def _check_aggregators(self) -> None:
        if not self._aggregators:
            raise ConfigurationError('an aggregation needs at least one result, such as n=Count() or total=Sum("x")')
        check_new_names((*self.keys, *self._aggregators), self._said)
        for name, aggregator in self._aggregators.items():
            wanted = "an aggregator such as Count() or Sum(field)"
            check_able(repr(name), aggregator, ("check", "columns", "shown"), wanted)
            if isinstance(aggregator, Combiner):
                check_sendable(f"{type(aggregator).__name__} for {name!r}", aggregator)

    def _results_of(self, columns: Mapping[str, tuple[StoredColumn, ...]]) -> list[Column]:
        """Return what a stream shows of the columns that are kept; control rows are left alone."""
        results = []
        for name, aggregator in self._aggregators.items():
            shown = aggregator.shown(*(field(name + column.suffix) for column in columns[name]))
            results.append(guarded(shown).alias(name))
        return [*(field(key) for key in self.keys), *results, control()]

    def check(self, fields: Fields) -> None:
        """Keys and aggregated fields must be there and suit."""
        check_keys(self.keys, fields)
        for name, aggregator in self._aggregators.items():
            aggregator.check(name, fields)

    def told(self) -> str:
        """Return the keys, and each result with its aggregator."""
        return f"by {', '.join(self.keys)}: {self.told_results()}" if self.keys else self.told_results()

    def told_results(self) -> str:
        """Return each result with its aggregator."""
        return ", ".join(f"{name} = {_called(each)}" for name, each in self._aggregators.items())

    def lower(self, frame: DataFrame, batch: BatchContext) -> DataFrame:
        """See `Operation.lower`."""
        grouped = self._grouped(frame, batch)
        along = [*sums_of(grouped), *roots_of(grouped)]
        folded = self.folded(grouped.select(*self._selected, *along), batch)
        shown = folded.select(*self._shown, *along) if self._shown else folded
        return with_new_ids(shown) if is_audited(frame) else shown

    def lower_last(self, frame: DataFrame, batch: BatchContext) -> DataFrame:
        """As `lower`, for the driver to read: it may leave `COPIES` beside the words, to save a step of planning."""
        return self._grouped(frame, batch) if self.is_one_grouping else self.lower(frame, batch)

    def _grouped(self, frame: DataFrame, batch: BatchContext) -> DataFrame:
        results = [self._result_of(column, batch).alias(name) for name, column in self.kept.items()]
        beside = [*summed(frame), *roots_of_all(frame), F.count(F.lit(1)).alias(COPIES)]
        return with_one_zero(frame).groupBy(*self._grouping).agg(*results, *beside)

    def _result_of(self, column: StoredColumn, batch: BatchContext) -> Column:
        """Return what is computed: a group inside the stream is right or fails, since others are made of it."""
        chosen = (column.lenient if batch.is_diverted else column.checked) if self._stored else None
        return column.expression if chosen is None else chosen

    def folded(self, grouped: DataFrame, batch: BatchContext) -> DataFrame:
        """Return the groups with what a combiner collected joined to one value."""
        if not self._combiners:
            return grouped
        types = {name: result_field(name, combiner) for name, combiner in self._combiners.items()}
        types |= {name: StructField(name, StringType()) for name in self.texts}
        schema = nullable([types.get(old.name, old) for old in grouped.schema.fields])
        work = Fold(self._combiners, arrow_schema(schema), self.texts)
        return in_python(grouped, work, schema, batch, by_group=True)


def check_keys(keys: Sequence[str], fields: Fields) -> None:
    """Refuse keys that are not there, or whose values can't be told apart."""
    for key in keys:
        fields.require(key, "group_by")
        check_comparable(fields.schema[key], "group_by")


def _check_kept(columns: Mapping[str, tuple[StoredColumn, ...]]) -> None:
    for name, several in columns.items():
        if any(column.merge is None for column in several):
            raise ConfigurationError(
                f"persistent_aggregate: {name!r} can be made of one batch's records only: two such results do not say "
                "what both batches' records would; use it in aggregate, or keep something that can be merged"
            )


def _called(aggregator: Aggregation) -> str:
    """Return an aggregator as a user writes it."""
    given = aggregator.fields if isinstance(aggregator, Combiner) else ()
    if dataclasses.is_dataclass(aggregator):
        given = tuple(str(getattr(aggregator, each.name)) for each in dataclasses.fields(aggregator))
    return f"{type(aggregator).__name__}({', '.join(given)})"


def _words() -> Column:
    """Return the control column of a grouping, in which a word that came more than once is marked."""
    copies = field(COPIES)
    words = F.when(copies == 1, control()).when(control().isNotNull(), F.concat(F.lit(REPEATED), control()))
    return words.alias(CONTROL)


@dataclass(frozen=True, slots=True)
class Fold:
    """Runs in a Python task: folds each group's collected values by the user's combiners."""

    combiners: Mapping[str, Combiner[object]]
    schema: pa.Schema
    texts: Mapping[str, pa.DataType]
    """The types of those whose values leave as texts."""

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Run over one task's batches."""
        for batch in batches:
            groups, words = split(batch)
            if groups.num_rows:
                names = [name for name in groups.schema.names if name != CONTROL]
                yield assemble([self._column(groups, name) for name in names], names, self.schema)
            if words is not None:
                yield bare(words, self.schema)

    def _column(self, groups: pa.RecordBatch, name: str) -> AnyArray:
        column = groups.column(name)
        combiner = self.combiners.get(name)
        if combiner is None:
            return column
        assert isinstance(column, pa.ListArray)
        type_ = self.schema.field(name).type
        try:
            values = fold(combiner, column, Settling(self.texts.get(name, type_)))
            return texts_of(values, self.texts[name]) if name in self.texts else exact_array(values, type_)
        except InexactError:
            # the library's own message would show the value
            raise ConfigurationError(
                f"{type(combiner).__name__} for {name!r} made a value that is not of its result_type "
                f"{combiner.result_type!r}; nothing of the batch was applied"
            ) from None


def fold(combiner: Combiner[object], lists: pa.ListArray[pa.Scalar[pa.DataType]], settled: Settling) -> list[object]:
    """Return one value per list of records: `init` of each, joined by `combine`; of nothing but Nones `zero`.

    What either returns is given to `combine` as a state would give it back, so that no cut into batches shows.
    """
    records = lists.flatten()
    assert isinstance(records, pa.StructArray)
    columns = [values_of(records.field(number), name, "combiner") for number, name in enumerate(combiner.fields)]
    made = [combiner.init(*row) for row in zip(*columns, strict=True)] if columns else _units(combiner, len(records))
    values = [settled(value) for value in made]
    offsets = [0, *_ends(lists)]
    return [_joined(combiner, values[start:stop], settled) for start, stop in itertools.pairwise(offsets)]


def _units(combiner: Combiner[object], count: int) -> list[object]:
    return [combiner.init() for _ in range(count)]


def _ends(lists: pa.ListArray[pa.Scalar[pa.DataType]]) -> list[int]:
    ends, total = [], 0
    for length in lists.value_lengths().to_pylist():
        total += length or 0
        ends.append(total)
    return ends


def _joined(combiner: Combiner[object], values: list[object], settled: Settling) -> object:
    result: object = None
    for value in values:
        if value is not None:
            result = value if result is None else settled(_combined(combiner, result, value))
    return combiner.zero() if result is None else result


def _combined(combiner: Combiner[object], left: object, right: object) -> object:
    value = combiner.combine(left, right)
    if value is None:  # taken for "no value" it would lose all that was combined so far
        raise ConfigurationError(
            f"{type(combiner).__name__}.combine returned None; it must return the value of both records (a missing "
            "return?); nothing of the batch was applied"
        )
    return value
