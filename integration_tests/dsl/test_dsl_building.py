"""What is wrong with a topology is said when it is built, in words that name the thing."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import ClassVar

import pyarrow as pa
import pytest
from pyspark.sql import Column, SparkSession, Window
from pyspark.sql import functions as F

from integration_tests.dsl.fakes import UnopenedState, rows_spout
from trident import Combiner, ConfigurationError, Count, FieldError, Max, Sum, Topology
from trident.language.stream import Stream
from trident.spouts import AckingKafkaSpout
from trident.spouts.queue.acking import AckingSpout, SpoutContext
from trident.spouts.queue.message import Message
from trident.state.kafka.sink import KafkaSink
from trident.state.layout import KeyColumn, Merge

FIELDS = ("account", "amount", "price", "tags")


class Silent(Combiner[int]):
    result_type: ClassVar[str] = "no such type"

    def init(self, *values: object) -> int:
        return 1

    def combine(self, left: int, right: int) -> int:
        return left + right


def identity(batch: pa.RecordBatch) -> pa.RecordBatch:
    return batch


LOCK = threading.Lock()


def locked(batch: pa.RecordBatch) -> pa.RecordBatch:
    with LOCK:
        return batch


# of a module that workers can't import, as in a notebook: what it uses travels with it
locked.__module__ = "__main__"


@pytest.fixture
def stream(spark: SparkSession) -> Stream:
    spout = rows_spout("account string, amount bigint, price double, tags array<string>", [])
    return Topology("t").stream("payments", spout)


MISSING: dict[str, Callable[[Stream], object]] = {
    "filter": lambda s: s.filter(F.col("nothing") > 0),
    "each": lambda s: s.each(x=F.col("nothing") + 1),
    "map": lambda s: s.map(x=F.upper("nothing")),
    "flat_map": lambda s: s.flat_map(x=F.col("nothing")),
    "project": lambda s: s.project("account", "nothing"),
    "group_by": lambda s: s.group_by("nothing"),
    "Sum": lambda s: s.aggregate(total=Sum("nothing")),
    "Max": lambda s: s.group_by("account").persistent_aggregate(UnopenedState("s"), top=Max("nothing")),
}


@pytest.mark.parametrize("verb", MISSING)
def test_a_missing_field_is_named_with_the_known_ones(stream: Stream, verb: str) -> None:
    with pytest.raises(FieldError) as caught:
        MISSING[verb](stream)
    assert caught.value.field == "nothing"
    assert caught.value.known == FIELDS
    assert verb in str(caught.value)


REFUSED: dict[str, tuple[str, Callable[[Stream], object]]] = {
    "sum of a string": ("integers or decimals.*'account' is string", lambda s: s.aggregate(t=Sum("account"))),
    "sum of floats": ("depend on the order", lambda s: s.aggregate(t=Sum("price"))),
    "max of an array": ("needs a field with an order", lambda s: s.aggregate(t=Max("tags"))),
    "no aggregator": ("at least one result", lambda s: s.aggregate()),
    "aggregator class": ("must be an aggregator", lambda s: s.aggregate(n=Count)),  # type: ignore[arg-type]
    "column as aggregator": ("must be an aggregator", lambda s: s.aggregate(n=F.count("*"))),  # type: ignore[arg-type]
    "no group field": ("at least one field", lambda s: s.group_by()),
    "column to group by": ("group_by takes the name", lambda s: s.group_by(F.col("account"))),  # type: ignore[arg-type]
    "column to project": ("project takes the name", lambda s: s.project(F.col("account"))),  # type: ignore[arg-type]
    "sum of a column": ("Sum takes the name", lambda s: s.aggregate(n=Sum(F.col("amount")))),  # type: ignore[arg-type]
    "most of a column": ("Max takes the name", lambda s: s.aggregate(n=Max(F.col("amount")))),  # type: ignore[arg-type]
    "combiner of a column": (
        "Silent takes the name",
        lambda s: s.aggregate(n=Silent(F.col("amount"))),  # type: ignore[arg-type]
    ),
    "column as state": (
        "must be a state",
        lambda s: s.persistent_aggregate(F.col("account"), n=Count()),  # type: ignore[arg-type]
    ),
    "captured lock": ("map can't be sent.*'LOCK'", lambda s: s.map(locked, "n bigint")),
    "group field twice": ("twice", lambda s: s.group_by("account", "account").aggregate(n=Count())),
    "result named as key": ("twice", lambda s: s.group_by("account").aggregate(Account=Count())),
    "field is there": ("there already.*'Amount'", lambda s: s.each(Amount=F.lit(1))),
    "function's field is there": ("there already", lambda s: s.each(identity, "amount bigint")),
    "reserved name": ("reserved", lambda s: s.each(__trident_x=F.lit(1))),
    "reserved in a map": ("reserved", lambda s: s.map(__trident=F.lit("forged"))),
    "text for a column": ("must be a Spark column", lambda s: s.each(x="amount")),  # type: ignore[arg-type]
    "no boolean": ("true or false", lambda s: s.filter(F.col("amount") + 1)),
    "no array": ("needs an array", lambda s: s.flat_map(x=F.col("amount"))),
    "two arrays": ("one array column", lambda s: s.flat_map(x=F.col("tags"), y=F.col("tags"))),
    "aggregate in a filter": ("refuses.*is an aggregator's", lambda s: s.filter(F.sum("amount") > 1)),
    "aggregate in a map": ("refuses.*is an aggregator's", lambda s: s.map(x=F.sum("amount"))),
    "aggregate beside a field": ("refuses.*is an aggregator's", lambda s: s.each(x=F.sum("amount"))),
    "explode in each": ("refuses.*the array itself, without F.explode", lambda s: s.each(x=F.explode("tags"))),
    "explode in flat_map": ("refuses.*the array itself", lambda s: s.flat_map(x=F.explode("tags"))),
    "window": ("window function", lambda s: s.each(n=F.row_number().over(Window.orderBy("amount")))),
    "a window of time": (
        "each: F.window and F.session_window can't be used",
        lambda s: s.each(w=F.window(F.timestamp_seconds("amount"), "5 minutes").start),
    ),
    "a window of time that slides": (
        "map: F.window and F.session_window can't be used",
        lambda s: s.map(w=F.window(F.timestamp_seconds("amount"), "5 minutes", "1 minute").start),
    ),
    "a window of time in a filter": (
        "filter: F.window and F.session_window can't be used",
        lambda s: s.filter(F.window(F.timestamp_seconds("amount"), "5 minutes").start.isNotNull()),
    ),
    "a session": (
        "each: F.window and F.session_window can't be used",
        lambda s: s.each(w=F.session_window(F.timestamp_seconds("amount"), "5 minutes").start),
    ),
    "random": ("not deterministic", lambda s: s.filter(F.rand() < 0.5)),
    "a hidden column": (r"each: columns are named, or taken in by '\*'", lambda s: s.each(j=F.col("__trident"))),
    "the hidden column of partitions": (
        "each: columns are named",
        lambda s: s.partition_by("account").each(p=F.col("__Trident_partition")),
    ),
    "a hidden column in other letters": (r"map: columns are named", lambda s: s.map(j=F.upper(F.col("__TRIDENT")))),
    "a hidden column by its identifier": (
        r"filter: columns are named",
        lambda s: s.filter(F.expr("IDENTIFIER('__trident') = 'a'")),
    ),
    "a star in filter": (r"filter: columns are named, or taken in by '\*'", lambda s: s.filter(F.hash("*") > 0)),
    "a star in each": (r"each: columns are named, or taken in by '\*'", lambda s: s.each(j=F.to_json(F.struct("*")))),
    "a star in map": (
        r"map: columns are named, or taken in by '\*'.*name the fields",
        lambda s: s.map(j=F.struct("*")),
    ),
    "a star in flat_map": (
        r"flat_map: columns are named, or taken in by '\*'",
        lambda s: s.flat_map(j=F.array(F.struct("*"))),
    ),
    "a star for a topic": (
        r"to_kafka: columns are named, or taken in by '\*'",
        lambda s: s.to_kafka("t", value=F.to_json(F.struct("*")), sink=KafkaSink("o", bootstrap_servers="127.0.0.1:9")),
    ),
    "clock": ("batch_time", lambda s: s.each(at=F.current_timestamp())),
    "python udf": ("Python UDF", lambda s: s.each(x=F.udf(lambda amount: str(amount))("amount"))),
    "schema text": ("does not declare fields", lambda s: s.map(identity, "amount lots of")),
    "no schema": ("map: the fields must be a text", lambda s: s.map(identity)),
    "schema for columns": ("named columns", lambda s: s.each(None, "x int", x=F.lit(1))),
    "function and columns": ("either a function", lambda s: s.each(identity, "x int", y=F.lit(1))),
    "no function": ("Python function", lambda s: s.filter("amount > 0")),  # type: ignore[arg-type]
    "combiner's type": ("not a Spark type", lambda s: s.aggregate(n=Silent("amount"))),
    "state's own column": ("its own", lambda s: s.persistent_aggregate(UnopenedState("s"), txid=Count())),
    "previous value": ("its own", lambda s: s.persistent_aggregate(UnopenedState("s"), previous_n=Count())),
    "array as key": ("can't hold", lambda s: s.group_by("tags").persistent_aggregate(UnopenedState("s"), n=Count())),
    "no state": (
        "persistent_aggregate: the state must be a state",
        lambda s: s.persistent_aggregate("balances", n=Count()),  # type: ignore[arg-type]
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_work_is_refused(stream: Stream, case: str) -> None:
    pattern, build = REFUSED[case]
    with pytest.raises(ConfigurationError, match=pattern):
        build(stream)


PLACES: dict[str, Callable[[Stream], Stream]] = {
    "partition_by": lambda s: s.partition_by("account"),
    "global_": lambda s: s.global_(),
    "batch_global": lambda s: s.batch_global(),
    "where they are, twice": lambda s: s.partition_by("account").local_or_shuffle(),
    "direct": lambda s: s.declare_direct("amount").direct(),
    "broadcast": lambda s: s.broadcast(),
    "function": lambda s: s.partition(lambda batch: batch.column("amount")),
}


@pytest.mark.parametrize("place", PLACES)
def test_what_this_library_computes_for_itself_is_not_taken_for_a_users(stream: Stream, place: str) -> None:
    """Its own expressions name hidden columns; that a user's do is looked at where there is a `*`."""
    put = PLACES[place](stream)
    mapped = put.each(n=F.col("amount") * 3).filter(F.col("n") * 2 > 1).flat_each(i=F.array(F.col("n") * 2))
    assert mapped.map(text=F.concat("account", F.lit("a*b"))).each(n=F.lit(2) * 3).fields == ("text", "n")
    with pytest.raises(ConfigurationError, match=r"map: columns are named, or taken in by '\*'"):
        mapped.map(j=F.struct("*"))


MOMENTS: dict[str, Callable[[], Column]] = {
    "cast": lambda: F.lit("now").cast("timestamp"),
    "cast in text": lambda: F.expr("'Today'::date"),
    "try_cast": lambda: F.expr("try_cast(' now ' as timestamp_ntz)"),
    "literal": lambda: F.expr("TIMESTAMP 'now' + interval 1 day"),
    "literal of a day": lambda: F.expr("greatest(date'yesterday', date'2020-01-01')"),
    "literal without a zone": lambda: F.expr("timestamp_ntz'now'"),
    "function": lambda: F.to_timestamp(F.lit("now")),
    "function of a day": lambda: F.to_date(F.lit("tomorrow UTC")),
    "trying function": lambda: F.expr("try_to_timestamp('now')"),
    "compared": lambda: F.to_timestamp("account") < F.lit("now"),
    "between": lambda: F.expr("to_timestamp(account) between 'epoch' and 'now'"),
    "one of": lambda: F.to_date("account").isin("today", "2020-01-01"),
    "argument": lambda: F.hour(F.lit("now")),
    "literal in double quotes": lambda: F.expr('TIMESTAMP "now"'),
    "raw literal": lambda: F.expr("DATE r'today'"),
    "cast of a cast": lambda: F.expr("coalesce(to_timestamp(account), to_date('today'))"),
    "behind the epoch": lambda: F.expr("greatest(to_date('epoch'), date(concat(char(1), 'today')))"),
    "literal behind a line of comment": lambda: F.expr("DATE -- a\n 'today'"),
    "literal behind a comment": lambda: F.expr("TIMESTAMP /* a */ 'now'"),
    "literal behind a comment in a comment": lambda: F.expr("TIMESTAMP /* a /* b */ c */ 'now'"),
    "literal behind comments in comments": lambda: F.expr("TIMESTAMP /*/*/**/*/*/ 'now'"),
    "literal behind a comment that a carriage return ends": lambda: F.expr("TIMESTAMP --x\r'now'"),
    "literal behind a comment that goes on": lambda: F.expr("TIMESTAMP --x\\\ny\n'now'"),
    "literal behind a quote in a comment": lambda: F.expr("TIMESTAMP /* /* it's */ */ 'now'"),
    "literal behind a text in a comment": lambda: F.expr("TIMESTAMP /* a /* b /* 'c' */ */ */ 'now'"),
    "literal with a zone": lambda: F.expr("TIMESTAMP 'tomorrow UTC'"),
    "literal with a zone and no blank": lambda: F.expr("DATE 'today+01:00'"),
    "literal with a short zone": lambda: F.expr("TIMESTAMP_LTZ 'yesterday-1'"),
    "literal before a control character": lambda: F.expr("TIMESTAMP 'now\x01'"),
    "put together": lambda: F.expr("concat('no','w')::timestamp"),
    "lowered": lambda: F.lower(F.lit("NOW")).cast("timestamp"),
    "cast twice": lambda: F.lit("now").cast("string").cast("timestamp"),
    "instead of null": lambda: F.nvl(F.to_timestamp("account"), F.lit("now")),
    "one of two": lambda: F.expr("nvl2(account, to_date(account), 'today')"),
    "null if it is": lambda: F.expr("nullif(to_date(account), 'today')"),
    "part of": lambda: F.expr("date_part('hour', 'now')"),
    "difference": lambda: F.expr("try_subtract(to_date(account), 'today')"),
    "element": lambda: F.expr("array('now')[0]::timestamp"),
}
WORDS: dict[str, Callable[[], Column]] = {
    "compared behind a between": lambda: F.expr("amount between 1 and 2 or account = 'now'"),
    "between texts": lambda: F.expr("account between 'a' and 'now'"),
    "compared with a between": lambda: F.expr("amount between 1 and 9") & (F.col("account") == "today"),
    "result": lambda: F.expr("case when amount between 1 and 5 then 'today' else 'later' end"),
    "name of a field": lambda: F.expr("account as `today`"),
    "text of a literal": lambda: F.concat(F.col("account"), F.lit("timestamp now")),
    "behind the epoch": lambda: F.expr("if(to_date(account) > 'epoch', 'today', 'tomorrow')"),
    "cast of a word": lambda: F.expr("if(to_date(account) > 'epoch', binary('now or never'), null)"),
    "cast of the epoch": lambda: F.expr("datediff(to_date(account), to_timestamp('epoch'))"),
    "function of the epoch": lambda: F.coalesce(F.to_timestamp("account"), F.to_date(F.lit("epoch"))),
    "list of texts": lambda: F.expr("account in ('now', 'later')"),
}


@pytest.mark.parametrize("case", MOMENTS)
def test_a_text_that_spark_reads_as_this_moment_is_refused(stream: Stream, case: str) -> None:
    """Nothing of Spark's calls it random or of the time, and each plan has another one."""
    with pytest.raises(ConfigurationError, match=r"each: the current time .* 'now'.*batch_time"):
        stream.each(x=MOMENTS[case]())
    with pytest.raises(ConfigurationError, match=r"map: the current time .* 'now'.*batch_time"):
        stream.map(x=MOMENTS[case]())


def test_a_setting_in_the_place_of_a_text_is_refused(stream: Stream, spark: SparkSession) -> None:
    """Its value may be such a word, or another one for the process that tries a batch again."""
    spark.conf.set("spark.my.word", "now")
    try:
        with pytest.raises(ConfigurationError, match=r"each: Spark puts a setting in place of \$\{.*F.lit"):
            stream.each(x=F.expr("upper('${env:HOME}')"))
        # newer versions of Spark put nothing there, and see no moment in what is written
        said = r"each: Spark (puts a setting in place of \$\{.*F.lit|can't read the expression)"
        with pytest.raises(ConfigurationError, match=said):
            stream.each(x=F.expr("TIMESTAMP '${spark.my.word}'"))
    finally:
        spark.conf.unset("spark.my.word")
    assert stream.each(x=F.lit("costs ${amount}")).schema.names[-1] == "x"
    as_advised = F.concat(F.lit("$"), F.lit("{env:HOME}"))
    assert stream.each(x=as_advised).schema.names[-1] == "x"


def test_such_a_text_is_a_text_like_any_other(stream: Stream) -> None:
    words = stream.filter(F.col("account") == "now").each(day=F.lit("today"), first=F.lit("epoch").cast("timestamp"))
    assert words.each(past=F.expr("account between 'a' and 'nowhere'")).schema.names[-1] == "past"


@pytest.mark.parametrize("case", WORDS)
def test_a_text_that_stays_one_may_say_now(stream: Stream, case: str) -> None:
    assert stream.each(x=WORDS[case]()).schema.names[-1] == "x"


def test_an_expression_of_many_comments_is_looked_through_at_once(stream: Stream) -> None:
    blanks = "date " + " /**/" * 5_000 + 'date "now' + " " * 5_000
    with pytest.raises(ConfigurationError, match="can't read"):
        stream.each(x=F.expr(blanks))


def test_a_moment_that_cannot_be_computed_is_said_when_it_is_built(stream: Stream) -> None:
    with pytest.raises(ConfigurationError, match=r"each: Spark can't compute a part .*"):
        stream.each(x=F.expr("concat('no', string(1 div 0))::timestamp"))


class Sharing(AckingSpout):
    schema = "account string"

    def __init__(self, *queues: str) -> None:
        self._queues = queues

    def open(self, context: SpoutContext) -> None:
        raise NotImplementedError

    def next_tuple(self) -> Message | None:
        raise NotImplementedError

    def shared_out(self) -> Sequence[str]:
        return self._queues


def test_what_gives_each_message_to_one_reader_is_read_by_one_stream(spark: SparkSession) -> None:
    topology = Topology("t")
    topology.stream("a", Sharing("the queue 'x' here", "the queue 'y' here"))
    topology.stream("b", Sharing("the queue 'z' here"))
    topology.stream("c", Sharing())
    topology.stream("d", Sharing())
    with pytest.raises(ConfigurationError, match=r"'a' and 'e' .* both read the queue 'y' here: .*Nothing was started"):
        topology.stream("e", Sharing("the queue 'w' here", "the queue 'y' here"))
    topology.stream("k", AckingKafkaSpout("k", group="g", bootstrap_servers="b:1"))
    with pytest.raises(ConfigurationError, match=r"'k' and 'f' .* both read the topic 'k' in the group 'g' at Kafka b"):
        topology.stream("f", AckingKafkaSpout(["j", "k"], group="g", bootstrap_servers="b:1"))
    topology.stream("f", AckingKafkaSpout("k", group="h", bootstrap_servers="b:1"))


def test_process_without_fields_is_told_what_is_missing(stream: Stream) -> None:
    with pytest.raises(ConfigurationError, match=r"process needs a function and the fields .*\(schema\) are missing"):
        stream.process(lambda record, collector: None)


def test_names_are_taken_once(stream: Stream) -> None:
    topology = Topology("t")
    spout = rows_spout("account string", [])
    first = topology.stream("a", spout)
    with pytest.raises(ConfigurationError, match="has a stream 'a' already"):
        topology.stream("a", spout)
    first.persistent_aggregate(UnopenedState("s"), n=Count())
    with pytest.raises(ConfigurationError, match="has a state 's' already"):
        first.group_by("account").persistent_aggregate(UnopenedState("s"), n=Count())
    with pytest.raises(ConfigurationError, match="reserved"):
        topology.stream("b", rows_spout("__trident string", []))
    topology.stream("idle", spout)
    with pytest.raises(ConfigurationError, match="'idle' ends in no state"):
        topology.compile()


def test_a_failed_step_leaves_the_topology_as_it_was(stream: Stream) -> None:
    topology = Topology("t")
    base = topology.stream("a", rows_spout("account string, amount bigint", []))
    with pytest.raises(FieldError):
        base.persistent_aggregate(UnopenedState("s"), total=Sum("nothing"))
    handle = base.group_by("account").persistent_aggregate(UnopenedState("s"), total=Sum("amount"))
    assert [end.name for end in topology.compile().ends] == ["s"]
    assert handle.layout.keys == (KeyColumn("account", pa.string()),)
    assert [(v.name, v.type, v.merge) for v in handle.layout.values] == [("total", pa.int64(), Merge.ADD)]


def test_names_with_dots_are_fields_like_others(spark: SparkSession) -> None:
    stream = Topology("t").stream("a", rows_spout("`a.b` string, `c``d` bigint", []))
    kept = stream.project("c`d", "a.b").group_by("a.b").aggregate(total=Sum("c`d"))
    assert kept.fields == ("a.b", "total")


def test_the_spec_names_what_must_stay_the_same(spark: SparkSession) -> None:
    topology = Topology("t")
    stream = topology.stream("payments", rows_spout("account string, price decimal(10,2)", []))
    stream.group_by("account").persistent_aggregate(UnopenedState("s"), n=Count(), total=Sum("price"))
    spec = topology.compile().spec()
    assert spec.spouts == {"payments": {"spout": "rows", "kind": "opaque"}}
    assert spec.states == {
        "s": {
            "state": "unopened",
            "kind": "opaque",
            "keys": "account string",
            "values": "n int64 add, total decimal(20, 2) add",
        }
    }
