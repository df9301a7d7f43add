"""Checks while a topology is built: each step runs on an empty frame, and what Spark refuses is said clearly."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

import pyarrow as pa
from py4j.java_gateway import JavaObject, JVMView
from py4j.protocol import Py4JJavaError
from pyspark.errors import AnalysisException, ParseException, PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StringType, StructField, StructType

from trident.base.closing import giving_back
from trident.base.control import CONTROL
from trident.base.errors import ConfigurationError, FieldError
from trident.base.order import ORDER
from trident.base.partitions import PARTITION
from trident.engine.quiet import quiet_spark_errors
from trident.engine.spark import is_classic, items_of
from trident.graph.turns import COLLATED
from trident.operations.base import (
    BUILD_CONTEXT,
    HIDDEN,
    Fields,
    Operation,
    RecordOperation,
    Told,
    check_new_names,
    nullable,
)
from trident.operations.moments import WORDS, moves_on
from trident.spouts.arrow_types import arrow_schema
from trident.spouts.base import Spout

_TIMES: Final = frozenset({"date", "timestamp", "timestamp_ntz"})
_TRIMMED: Final = "".join(map(chr, (*range(33), 127)))
"""What Spark takes off both ends of a text that it casts."""
_CASE: Final = rf"CASE WHEN \({CONTROL} IS NULL\) THEN (?P<given>.*) ELSE (?P<other>true|array\(NULL\)) END"
"""What this library makes of a user's expression, so that control rows go round it."""
_GUARDED: Final = re.compile(f'"{_CASE}"')
_GUARDED_INSIDE: Final = re.compile(_CASE)
_OF_COLUMNS: Final = frozenset({"filter", "each", "map", "flat_map", "flat_each", "to_kafka"})
"""The verbs that take expressions of a user's."""
_LITERAL: Final = re.compile(r"'(?:[^'\\]|\\.)*'")
_MAY_NAME_ALL: Final = re.compile(rf"\*|{CONTROL}|identifier", re.IGNORECASE)
_GUARD: Final = f"CASE WHEN ({CONTROL} IS NULL) THEN "
_HIDDEN_NAMED: Final = re.compile(rf"(?<!\w)(?:{'|'.join(HIDDEN)})(?!\w)", re.IGNORECASE)
_WANTED: Final = {"true": "a condition that is true or false", "array(NULL)": "an array"}
_GENERATOR: Final = "UNSUPPORTED_GENERATOR"
_OF_GROUPS: Final = (
    "What is made of several records is an aggregator's: aggregate(total=Sum('amount')) of a batch, "
    "persistent_aggregate of all"
)
_INSTEAD: Final = {
    _GENERATOR: (
        "To make several records of one, give flat_map or flat_each the array itself, without F.explode: "
        "flat_map(name=F.col('names'))"
    ),
    "MISSING_GROUP_BY": _OF_GROUPS,
    "MISSING_AGGREGATION": _OF_GROUPS,
    "INVALID_WHERE_CONDITION": _OF_GROUPS,
}
"""What says here what somebody who comes from Spark has tried to say, by the beginning of Spark's error condition."""
_PLAN_STEPS = {"Project", "Filter", "Generate", "Aggregate", "MapInArrow", "LogicalRDD", "LocalRelation"}


def fields_of(frame: DataFrame) -> Fields:
    """Return a frame's fields without the columns that only go along."""
    return Fields(StructType([field for field in frame.schema.fields if field.name not in HIDDEN]))


def prototype(spark: SparkSession, name: str, spout: Spout) -> DataFrame:
    """Return an empty frame as the spout's own will be."""
    source = spout.open(name)
    with giving_back(f"closing stream {name!r}", source.close):
        schema = source.schema(spark)
    check_new_names(schema.names, f"stream {name!r}")
    # a reader's control rows are null elsewhere, whatever the declared fields say
    fields = [StructField(field.name, field.dataType) for field in schema.fields]
    return spark.createDataFrame([], StructType([*fields, StructField(CONTROL, StringType())]))


def apply_step(operation: Operation, frame: DataFrame) -> DataFrame:
    """Return the prototype after one more step, or raise what is wrong with it."""
    fields = fields_of(frame)
    operation.check(fields)
    try:
        with quiet_spark_errors():
            after = operation.lower(frame, BUILD_CONTEXT)
            # Connect's client takes over the schema it knows after a filter: select() makes it ask the server
            names = (after if is_classic(after.sparkSession) else after.select("*")).schema.names
    except AnalysisException as error:
        raise refusal(operation.verb, error, fields) from None
    if CONTROL not in names:
        raise ConfigurationError(f"{operation.verb} would lose the column {CONTROL!r} that is not its own")
    _refuse_unrepeatable(operation.verb, after)
    if operation.verb in _OF_COLUMNS and (not isinstance(operation, Told) or _MAY_NAME_ALL.search(operation.told())):
        _refuse_star(operation.verb, frame, after)
    if operation.verb in _OF_COLUMNS:
        _refuse_time_window(operation.verb, frame, after)
    return after


def apply_own(operation: Operation, frame: DataFrame) -> DataFrame:
    """Return a prototype of the stream after a step that holds no expression of a user's, or raise what is wrong."""
    operation.check(fields_of(frame))
    return empty_sample(frame.sparkSession, operation.lower(frame, BUILD_CONTEXT).drop(CONTROL).schema)


def apply_to_several(operation: RecordOperation, frames: Sequence[DataFrame]) -> DataFrame:
    """Return a prototype of the stream behind an operation on several, or raise what is wrong with it."""
    schema = operation.result([fields_of(frame).schema for frame in frames])
    after = operation.lower([frame.drop(CONTROL) for frame in frames], BUILD_CONTEXT)
    said = [each for each in schema.fields if each.name != PARTITION]
    made = [name for name in after.columns if name not in (ORDER, PARTITION)]
    assert made == [each.name for each in said], "what it says of its result is what it makes"
    place = [each for each in after.schema.fields if each.name == PARTITION]  # its own, or of records that it passes on
    return empty_sample(frames[0].sparkSession, StructType([*said, *place]))


def carried_schema(frame: DataFrame) -> pa.Schema:
    """Return the columns of records that are kept for the turn: the fields, and the partition where they have one.

    Of a collation Arrow knows nothing, so it is noted beside a field that has one.
    """
    kept = [each for each in frame.schema.fields if each.name not in HIDDEN or each.name == PARTITION]
    noted = {each.name: type_ for each in kept if " collate " in (type_ := each.dataType.simpleString().lower())}
    fields = list(arrow_schema(nullable(kept)))
    return pa.schema(
        [each.with_metadata({COLLATED: noted[each.name]}) if each.name in noted else each for each in fields]
    )


def empty_sample(spark: SparkSession, schema: StructType) -> DataFrame:
    """Return a prototype with these fields."""
    return spark.createDataFrame([], StructType([*nullable(schema.fields), StructField(CONTROL, StringType())]))


def refusal(verb: str, error: PySparkException, fields: Fields) -> ConfigurationError:
    """Return Spark's refusal of an expression in this library's words."""
    condition = error.getCondition() or ""
    parameters = error.getMessageParameters() or {}
    if condition.startswith(("UNRESOLVED_COLUMN", "FIELD_NOT_FOUND")):
        name = parameters.get("objectName") or parameters.get("fieldName") or "?"
        return FieldError(f"{verb} names a field that is not there", name.strip("`").replace("`.`", "."), fields.names)
    if isinstance(error, ParseException):
        return ConfigurationError(f"{verb}: Spark can't read the expression ({condition})")
    guarded = _GUARDED.fullmatch(parameters.get("sqlExpr", ""))
    if guarded is not None and condition.endswith(".DATA_DIFF_TYPES"):
        given = parameters.get("dataType", "").strip("[").split(", ")[0].strip('"').lower()
        return ConfigurationError(f"{verb} needs {_WANTED[guarded['other']]}, but {guarded['given']} is {given}")
    first_line = (error.getMessage() or str(error)).strip().splitlines()[0]
    shown = _GUARDED_INSIDE.sub(r"\g<given>", first_line)
    instead = next((f". {way}" for start, way in _INSTEAD.items() if condition.startswith(start)), "")
    if CONTROL in shown or condition.startswith(_GENERATOR):  # a step of Spark's, as it prints itself
        return ConfigurationError(f"{verb}: Spark refuses the expression ({condition}){instead}")
    return ConfigurationError(f"{verb}: Spark refuses the expression: {shown}{instead}")


def _refuse_unrepeatable(verb: str, frame: DataFrame) -> None:
    """Refuse what would give another result in a re-run, or would hand control rows to a user's code.

    Spark Connect does not show its plans; there this check is left out.
    """
    if not is_classic(frame.sparkSession):
        return
    plan = frame._jdf.queryExecution().analyzed()
    jvm = frame.sparkSession._jvm
    assert jvm is not None
    patterns = jvm.org.apache.spark.sql.catalyst.trees.TreePattern
    unknown = _plan_steps(plan) - _PLAN_STEPS
    if "Expand" in unknown:  # of a window that slides: one row for each that a record is in
        raise _is_time_window(verb)
    if "Window" in unknown:
        raise ConfigurationError(f"{verb}: a window function would depend on how records are spread over tasks")
    if unknown or plan.containsPattern(patterns.PLAN_EXPRESSION()):
        raise ConfigurationError(f"{verb}: joins, limits and subqueries can't be used in a stream's expression")
    if not plan.deterministic():
        raise ConfigurationError(f"{verb}: the expression is not deterministic, so a re-run of a batch would differ")
    if plan.containsPattern(patterns.CURRENT_LIKE()) or _has_moments(verb, plan, jvm):
        raise moves_on(verb)
    if verb != "aggregate" and _has_scalar_udf(plan, patterns):
        raise ConfigurationError(
            f"{verb}: a Python UDF inside a column can't be used; give {verb} a Python function over Arrow batches"
        )


def _refuse_star(verb: str, before: DataFrame, after: DataFrame) -> None:
    """Refuse `*` inside an expression: it would take in the columns that only go along, whose values are no record's.

    Steps before this one are not looked at: what this library computes for itself names such columns. Spark Connect
    does not show its plans; there this check is left out.
    """
    if not is_classic(after.sparkSession):
        return
    seen = before._jdf.queryExecution().analyzed()
    for expression in _expressions(after._jdf.queryExecution().analyzed(), seen):
        _, guard, given = _LITERAL.sub("''", str(expression.sql())).partition(_GUARD)
        if guard and _HIDDEN_NAMED.search(given):
            raise ConfigurationError(
                f"{verb}: columns are named, or taken in by '*', that are not the stream's own (their names begin with "
                f"{CONTROL}); name the fields, as in F.struct(*stream.fields)"
            )


def _refuse_time_window(verb: str, before: DataFrame, after: DataFrame) -> None:
    """Refuse what makes Spark leave out records where nobody asked for it: it would leave out control rows, too.

    Spark Connect does not show its plans; there this check is left out.
    """
    if not is_classic(after.sparkSession):
        return
    seen = before._jdf.queryExecution().analyzed()
    plan = after._jdf.queryExecution().analyzed()
    while not plan.fastEquals(seen):
        if str(plan.nodeName()) == "Filter" and _GUARD not in str(plan.condition().sql()):
            raise _is_time_window(verb)
        (plan,) = items_of(plan.children())


def _is_time_window(verb: str) -> ConfigurationError:
    return ConfigurationError(
        f"{verb}: F.window and F.session_window can't be used in a stream's expression: Spark leaves out, or doubles, "
        "records for them. Compute where a window begins, as in F.date_trunc('hour', 'at')"
    )


def _plan_steps(plan: JavaObject) -> set[str]:
    return {str(plan.nodeName())}.union(*map(_plan_steps, items_of(plan.children())))


def _has_moments(verb: str, plan: JavaObject, jvm: JVMView) -> bool:
    """Whether a text such as 'now' is cast to a date or timestamp, by Spark's own rule that makes a moment of it."""
    rules = jvm.org.apache.spark.sql.catalyst.optimizer
    try:
        with quiet_spark_errors():
            before = rules.ReplaceExpressions.apply(plan)
            if rules.SpecialDatetimeValues.apply(before).fastEquals(before):
                return False
            # 'epoch' is the same moment in each run
            texts = (text for expression in _expressions(before) for text in _cast_texts(expression))
            return any(text.strip(_TRIMMED).lower().startswith(WORDS) for text in texts)
    except (PySparkException, Py4JJavaError) as error:
        # it computes the text that is cast
        raise ConfigurationError(
            f"{verb}: Spark can't compute a part of the expression that is the same for all records: "
            f"{str(error).strip().splitlines()[0]}"
        ) from None


def _expressions(plan: JavaObject, seen: JavaObject | None = None) -> Iterator[JavaObject]:
    """Yield the expressions of a plan down to one that was seen before."""
    if seen is not None and plan.fastEquals(seen):
        return
    yield from items_of(plan.expressions())
    for child in items_of(plan.children()):
        yield from _expressions(child, seen)


def _cast_texts(node: JavaObject) -> Iterator[str]:
    """Yield the texts in an expression that are cast to a date or timestamp and are the same for each record.

    Nothing else is computed here: what stands around such a cast may fail without it.
    """
    inside = list(items_of(node.children()))
    if str(node.nodeName()) == "Cast" and str(node.dataType().typeName()) in _TIMES:
        (given,) = inside
        if str(given.dataType().typeName()).startswith("string") and given.foldable():
            yield str(given.eval(None))
    for child in inside:
        yield from _cast_texts(child)


def _has_scalar_udf(plan: JavaObject, patterns: JavaObject) -> bool:
    # the function of mapInArrow is a PYTHON_UDF too, so only steps given as columns are asked
    if str(plan.nodeName()) == "MapInArrow":
        return False
    udf = patterns.PYTHON_UDF()
    if plan.containsPattern(udf) and any(each.containsPattern(udf) for each in items_of(plan.expressions())):
        return True
    return any(_has_scalar_udf(child, patterns) for child in items_of(plan.children()))
