"""The engine's rules that need no Spark session: error texts, sizes, folding, rows of a task."""

from __future__ import annotations

import pickle
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta, timezone
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pytest
from py4j.protocol import Py4JJavaError, Py4JNetworkError
from pyspark.errors import PythonException

from tests.dsl.sinks import UnopenedSink
from trident import Combiner, ConfigurationError, FatalError, FieldError, RefusedError, RetryableError, Topology
from trident.base.control import CONTROL, BadRecordWord, encode
from trident.base.digest import Digest
from trident.base.errors import FencedError, UncomputableError
from trident.base.identity import BatchId, Epoch, Owner
from trident.base.nested_text import text_of, value_of
from trident.base.ranges import BadRecordRow, Edge, OffsetRange, PartitionId, RangeManifest
from trident.base.signals import StopSignal
from trident.base.writes import WriteManifest
from trident.coordinators.batches.completeness import complete_edges
from trident.coordinators.batches.processor import ProcessRequest, ProcessResult, UnprocessableError
from trident.coordinators.pinned import DeadLetter
from trident.engine import parallel
from trident.engine.collecting import Collected, Readings, joined, read_table
from trident.engine.errors import classify
from trident.engine.parallel import FirstAlone, run_all
from trident.engine.processor import goes_alone
from trident.engine.reading import ONE_TASKS
from trident.engine.staging import StageRows, Staging, StagingChoice
from trident.engine.tasks import within
from trident.graph.jobs import Job
from trident.graph.nodes import End, SinkNode, SourceNode
from trident.operations import arrow_lists
from trident.operations.aggregate import COPIES, REPEATED, fold
from trident.operations.aggregators.nested import Settling
from trident.operations.arrow import Add, Expand, Keep, Replace, split
from trident.operations.given import values_of
from trident.spouts.base import OffsetsLostError, Spout
from trident.state.layout import KeyColumn, Merge, StateLayout, ValueColumn
from trident.state.staged import HeldUpdates, WrittenUpdates
from trident.state.values import StaleTxidError

LAYOUT = StateLayout((KeyColumn("k", pa.string()),), (ValueColumn("n", pa.int64(), Merge.ADD),))
SCHEMA = LAYOUT.schema()
WORD = encode(RangeManifest(7, PartitionId("t", 0), 3, Digest()))
WRITE = encode(WriteManifest("s", "w1", Digest(count=2)))


class Product(Combiner[int]):
    result_type = "bigint"

    def init(self, *values: object) -> int | None:
        (value,) = values
        return value if isinstance(value, int) else None

    def combine(self, left: int, right: int) -> int:
        return left * right


def batch(*rows: tuple[str | None, int | None, str | None]) -> pa.RecordBatch:
    keys, numbers, words = zip(*rows, strict=True)
    arrays: list[pa.Array[Any]] = [
        pa.array(keys, pa.string()),
        pa.array(numbers, pa.int64()),
        pa.array(words, pa.string()),
    ]
    return pa.RecordBatch.from_arrays(arrays, names=["k", "n", CONTROL])


LIBRARY = "/worker/site-packages/trident/operations/arrow.py"


def trace(*tail: str, file: str = "/app/job.py") -> PythonException:
    frames = ['  File "/app/reader.py", line 3, in outer', "    inner()", f'  File "{file}", line 12, in decode']
    return PythonException("\n".join(["", "Traceback (most recent call last):", *frames, "    int(x)", *tail, ""]))


def test_an_exception_in_a_task_is_named_without_its_text() -> None:
    error = classify(trace("ValueError: invalid literal 'secret'", "secret: too"), "job of 's'")
    assert isinstance(error, RetryableError)
    assert str(error) == (
        "job of 's': Python code raised ValueError at /app/job.py:12 in decode. Nothing of the batch was applied."
    )


@pytest.mark.parametrize(
    "deeper",
    [
        "/app/venv/lib/python3.11/site-packages/pyarrow/array.py",
        "/usr/lib/python3.11/json/decoder.py",
        "<frozen importlib._bootstrap>",
        "/opt/spark/python/lib/pyspark.zip/pyspark/util.py",
        "/worker/site-packages/trident/operations/given.py",
    ],
)
def test_an_exception_that_a_library_raises_names_the_users_line_too(deeper: str) -> None:
    outer = ["Traceback (most recent call last):", '  File "/app/other.py", line 1, in earlier', "KeyError: 1", ""]
    lines = [*outer, "Traceback (most recent call last):", '  File "/app/job.py", line 12, in decode', "    f(x)"]
    lines += [f'  File "{deeper}", line 5, in inside', "ValueError: secret"]
    error = classify(PythonException("\n".join(lines)), "job")
    assert str(error).startswith(
        f"job: Python code raised ValueError at {deeper}:5 in inside, called at /app/job.py:12 in "
    )
    assert "secret" not in str(error)


def test_own_errors_keep_kind_and_text_on_their_way_from_a_task() -> None:
    fatal = classify(trace("trident.base.errors.ConfigurationError: the topic is gone", file=LIBRARY), "job")
    assert isinstance(fatal, FatalError)
    assert str(fatal) == "job: the topic is gone"
    again = classify(trace("trident.base.errors.RetryableError: the broker did not answer", file=LIBRARY), "job")
    assert isinstance(again, RetryableError)
    assert str(again) == "job: the broker did not answer"
    fenced = classify(trace("trident.base.errors.FencedError: epoch 2 has 'sums'", file=LIBRARY), "job")
    assert isinstance(fenced, FencedError)
    assert str(fenced) == "job: epoch 2 has 'sums'"


def test_own_errors_of_other_modules_keep_kind_and_text_too() -> None:
    lost = OffsetsLostError((OffsetRange(PartitionId("t", 3), "id", 10, 20),))
    error = classify(trace(f"trident.spouts.base.OffsetsLostError: {lost}", file=LIBRARY), "job")
    assert isinstance(error, RetryableError)
    assert "no longer holds the beginning of what was planned: t[3] 10..20; nothing of it was applied" in str(error)
    stale = classify(
        trace(f"{StaleTxidError.__module__}.StaleTxidError: the stored value is of txid 2", file=LIBRARY), "job"
    )
    assert isinstance(stale, FatalError)


@pytest.mark.parametrize(
    "file",
    ["/app/job.py", "/home/me/trident/job.py", "/app/trident/operations/mine.py"],
    ids=["of a job", "in a folder of our name", "beside our own"],
)
def test_what_a_users_function_says_with_our_errors_is_left_out_and_its_kind_kept(file: str) -> None:
    fatal = classify(trace("trident.base.errors.FatalError: no account secret", file=file), "job of 's'")
    assert isinstance(fatal, FatalError)
    assert f"Python code raised trident.base.errors.FatalError at {file}:12 in decode" in str(fatal)
    assert "secret" not in str(fatal)
    again = classify(trace("trident.base.errors.RetryableError: no account secret", file=file), "job of 's'")
    assert isinstance(again, RetryableError)
    assert "secret" not in str(again)


def test_an_error_that_only_looks_like_ours_is_not_trusted() -> None:
    error = classify(trace("elsewhere.errors.FatalError: secret"), "job")
    assert isinstance(error, RetryableError)
    assert "secret" not in str(error)


def test_a_jvm_that_dies_while_it_is_asked_for_the_cause_is_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(cause: object) -> None:
        raise ConnectionRefusedError(111, "Connection refused")

    monkeypatch.setattr("trident.engine.errors.convert_exception", refused)
    error = Py4JJavaError.__new__(Py4JJavaError)
    error.java_exception = object()
    found = classify(error, "job")
    assert isinstance(found, FatalError)
    assert "Spark's JVM has ended" in str(found)


UNPICKLING = "/worker/site-packages/pyspark/serializers.py"


def test_a_module_that_workers_can_not_import_is_named_at_once() -> None:
    frames = [f'  File "{UNPICKLING}", line 500, in loads', "    return cloudpickle.loads(obj, encoding=encoding)"]
    for more in ([], ['  File "/app/poison.py", line 1, in <module>', "    import needed"]):
        name = "needed" if more else "poison"
        said = [
            "Traceback (most recent call last):",
            *frames,
            *more,
            f"ModuleNotFoundError: No module named '{name}'",
            "",
        ]
        error = classify(PythonException("\n".join(said)), "job of 's'")
        assert isinstance(error, UnprocessableError)
        assert f"can't import the module '{name}'" in str(error)
        assert "addPyFile" in str(error)
        assert "PYTHONPATH" in str(error)


@pytest.mark.parametrize(
    "error",
    [
        trace("ModuleNotFoundError: No module named 'secret'"),
        trace("ModuleNotFoundError: No module named 'secret'", file=UNPICKLING),
        trace("ValueError: No module named 'secret'"),
    ],
)
def test_what_a_function_imports_while_it_runs_may_be_there_later(error: PythonException) -> None:
    found = classify(error, "job")
    assert isinstance(found, RetryableError)
    assert "secret" not in str(found)


def test_a_lost_connection_may_come_back() -> None:
    assert isinstance(classify(Py4JNetworkError("the answer is empty"), "job"), RetryableError)
    assert isinstance(classify(PythonException("no traceback at all"), "job"), RetryableError)


def test_field_errors_can_be_pickled() -> None:
    error = pickle.loads(pickle.dumps(FieldError("filter names a field", "x", ("a", "b"))))
    assert (error.field, error.known) == ("x", ("a", "b"))


def test_the_first_batch_is_expected_to_have_a_key_per_record() -> None:
    choice = StagingChoice(Staging.AUTO, 40_000, SCHEMA)
    assert choice.expected_bytes(1000) == 1000 * (32 + 8)
    assert not choice.by_executors(1000)
    assert choice.by_executors(1001)


def test_later_batches_are_expected_to_be_like_the_last() -> None:
    choice = StagingChoice(Staging.AUTO, 10_000, SCHEMA)
    choice.learn(width=1000, rows=10, size=1000)
    assert choice.expected_bytes(500) == 10 * 100.0
    assert choice.expected_bytes(4000) == 40 * 100.0
    assert choice.expected_bytes(5) == 5 * 100.0
    choice.learn(width=1000, rows=200, size=None)
    assert choice.expected_bytes(1000) == 200 * 100.0
    choice.learn(width=1000, rows=0, size=0)
    assert choice.expected_bytes(1000) == 0


@pytest.mark.parametrize(("mode", "expected"), [(Staging.DRIVER, False), (Staging.EXECUTORS, True)])
def test_a_fixed_choice_stays(mode: Staging, *, expected: bool) -> None:
    choice = StagingChoice(mode, 1, SCHEMA)
    assert choice.by_executors(1) is expected
    assert choice.by_executors(10**9) is expected


PRODUCT = cast(Combiner[object], Product("f"))
INTEGERS, MOMENTS = Settling(pa.int64()), Settling(pa.timestamp("us", "UTC"))


def lists(*values: list[int | None]) -> pa.ListArray[pa.Scalar[pa.DataType]]:
    rows = [[{"f0": value, "row": True} for value in items] for items in values]
    array = pa.array(rows, pa.list_(pa.struct([("f0", pa.int64()), ("row", pa.bool_())])))
    assert isinstance(array, pa.ListArray)
    return array


def test_a_fold_leaves_out_missing_values() -> None:
    assert fold(PRODUCT, lists([2, None, 3], [], [None], [5]), INTEGERS) == [6, None, None, 5]


class ProductOrOne(Product):
    def zero(self) -> int:
        return 1


def test_a_fold_of_nothing_is_the_combiners_zero() -> None:
    assert fold(cast(Combiner[object], ProductOrOne("f")), lists([2, None, 3], [], [None]), INTEGERS) == [6, 1, 1]
    assert (ProductOrOne("f").has_zero, Product("f").has_zero) == (True, False)


def test_a_fold_of_a_slice_sees_its_own_lists_only() -> None:
    part = lists([2], [3, 4], [5]).slice(1, 2)
    assert isinstance(part, pa.ListArray)
    assert fold(PRODUCT, part, INTEGERS) == [12, 5]


def test_records_and_words_are_told_apart() -> None:
    records, words = split(batch(("a", 1, None), (None, None, WORD), ("b", None, None)))
    assert words is not None
    assert (records.num_rows, words.column(CONTROL).to_pylist()) == (2, [WORD])
    assert split(batch(("a", 1, None)))[1] is None


def never(records: pa.RecordBatch) -> pa.RecordBatch:
    raise AssertionError("a function must not see a batch of words only")


TYPES: dict[str, pa.DataType] = {"k": pa.string(), "n": pa.int64(), CONTROL: pa.string()}
NK = pa.schema(TYPES)
N = pa.schema([("n", pa.int64())])
STEPS: dict[str, Callable[[], object]] = {
    "filter": lambda: Keep(never, NK),  # type: ignore[arg-type]
    "each": lambda: Add(never, N, NK),
    "map": lambda: Replace(never, N, NK),
    "flat_map": lambda: Expand(never, N, NK, in_runs=True),
}


@pytest.mark.parametrize("verb", STEPS)
def test_words_go_round_a_users_function(verb: str) -> None:
    step = STEPS[verb]()
    assert callable(step)
    outcome = list(step([batch((None, None, WORD), (None, None, WRITE))]))
    assert [row for part in outcome for row in part.column(CONTROL).to_pylist()] == [WORD, WRITE]


@pytest.mark.parametrize(
    ("returned", "pattern"),
    [
        (pa.array(["x"]), "some value of which the declared int64 does not hold as it is"),
        (pa.array([1, 2]), "2 values for 1 records"),
        ([pa.array([1]), pa.array([2])], "2 arrays for 1 declared"),
        ({"m": pa.array([1])}, "the fields m instead of the declared n"),
    ],
)
def test_what_a_function_returns_must_be_what_was_declared(returned: object, pattern: str) -> None:
    schema = pa.schema([*N, pa.field(CONTROL, pa.string())])
    step = Replace(lambda _: returned, N, schema)  # type: ignore[arg-type,return-value]
    with pytest.raises(ConfigurationError, match=pattern):
        list(step([batch(("secret", 1, None))]))


def result_of(collected: Collected, edges: dict[str, tuple[Edge, ...]]) -> ProcessResult:
    (spout,) = edges
    readings = Readings(edges)
    readings.add(spout, collected.words)
    return readings.result({"s": collected})


def edges() -> dict[str, tuple[Edge, ...]]:
    return {"payments": (Edge(7, OffsetRange(PartitionId("t", 0), "id", 0, 3)),)}


def test_a_table_is_updates_and_words() -> None:
    table = pa.Table.from_batches([batch(("a", 1, None), (None, None, WORD))])
    result = result_of(read_table(table, SCHEMA), edges())
    updates = result.updates["s"]
    assert isinstance(updates, HeldUpdates)
    assert updates.rows.to_pylist() == [{"k": "a", "n": 1}]
    assert result.manifests == (("payments", RangeManifest(7, PartitionId("t", 0), 3, Digest())),)


def test_a_table_of_words_only_is_what_tasks_staged() -> None:
    table = pa.table({CONTROL: [WORD, WRITE]})
    result = result_of(read_table(table, None), edges())
    assert result.updates == {"s": WrittenUpdates((WriteManifest("s", "w1", Digest(count=2)),))}


def test_a_word_of_another_job_fails_the_attempt() -> None:
    stranger = encode(RangeManifest(8, PartitionId("t", 0), 3, Digest()))
    with pytest.raises(RetryableError, match="not given"):
        result_of(read_table(pa.table({CONTROL: [stranger]}), None), edges())


def test_a_word_that_came_twice_fails_the_attempt() -> None:
    with pytest.raises(RetryableError, match="read twice"):
        read_table(pa.table({CONTROL: [REPEATED + WORD]}), None)
    rows = pa.Table.from_batches([batch(("a", 1, None), (None, None, WORD))])
    read_table(rows.append_column(COPIES, pa.array([5, 1])), SCHEMA)
    with pytest.raises(RetryableError, match="read twice"):
        read_table(rows.append_column(COPIES, pa.array([1, 2])), SCHEMA)


def test_a_word_nobody_knows_is_fatal() -> None:
    with pytest.raises(FatalError, match="one version"):
        read_table(pa.table({CONTROL: ['["unknown"]']}), None)


def test_staged_rows_leave_words_only() -> None:
    staged: list[pa.RecordBatch] = []

    def writer(batches: Iterator[pa.RecordBatch]) -> Iterator[str]:
        staged.extend(batches)
        yield WRITE

    step = StageRows(writer, SCHEMA)
    (out,) = step([batch(("a", 1, None), (None, None, WORD)), batch(("b", 2, None))])
    assert sorted(out.column(CONTROL).to_pylist(), key=str) == sorted([WORD, WRITE])
    assert [row for part in staged for row in part.to_pylist()] == [{"k": "a", "n": 1}, {"k": "b", "n": 2}]


def test_nothing_to_stage_makes_no_write() -> None:
    def writer(batches: Iterator[pa.RecordBatch]) -> Iterator[str]:
        raise AssertionError("nothing to write")

    (out,) = StageRows(writer, SCHEMA)([batch((None, None, WORD))])
    assert out.column(CONTROL).to_pylist() == [WORD]
    assert list(StageRows(writer, SCHEMA)([])) == []


def test_a_writer_that_stops_early_fails_the_attempt() -> None:
    def writer(batches: Iterator[pa.RecordBatch]) -> Iterator[str]:
        next(batches)
        yield WRITE

    step = StageRows(writer, SCHEMA)
    with pytest.raises(FatalError, match="left rows unread"):
        list(step([batch(("a", 1, None)), batch(("b", 2, None))]))


@pytest.mark.parametrize("name", ["", "  ", "a\nb", "x" * 201])
def test_a_topology_needs_a_name(name: str) -> None:
    with pytest.raises(ConfigurationError, match="a name of 1 to 63 bytes of printable"):
        Topology(name)


def test_a_word_that_can_not_name_its_range_is_about_the_jobs_only_spout() -> None:
    """What Spark's connector leaves of ranges without records."""
    edges = {"in": tuple(Edge(n, OffsetRange(PartitionId("t", n), "id", 0, 3)) for n in (7, 8))}
    nameless = [encode(RangeManifest(-n, None, None, Digest())) for n in (1, 2)]
    table = pa.Table.from_batches([batch(*((None, None, word) for word in nameless))])
    result = result_of(read_table(table, SCHEMA), edges)
    assert [(spout, manifest.id) for spout, manifest in result.manifests] == [("in", None)] * 2
    assert complete_edges(edges, result) == (7, 8)


def readings() -> tuple[Readings, End]:
    """One source that has been read, and an end on it."""
    given = Readings(edges())
    given.add("payments", read_table(pa.table({CONTROL: [WORD]}), None).words)
    return given, SinkNode(UnopenedSink("out", SCHEMA), SourceNode("payments", cast(Spout, None)))


def test_actions_on_kept_records_agree_with_what_was_read() -> None:
    given, end = readings()
    given.require_agreement(end, read_table(pa.table({CONTROL: [WRITE, WORD]}), None))


OTHER_WORDS = {
    "other records": [encode(RangeManifest(7, PartitionId("t", 0), 3, Digest(count=1)))],
    "a range less": [],
    "a bad record more": [
        WORD,
        encode(BadRecordWord(7, BadRecordRow(PartitionId("t", 0), 1, None, "not JSON", None, None))),
    ],
}


@pytest.mark.parametrize("words", OTHER_WORDS)
def test_kept_records_that_were_read_anew_must_be_the_same(words: str) -> None:
    given, end = readings()
    table = pa.table({CONTROL: pa.array(OTHER_WORDS[words], pa.string())})
    with pytest.raises(RetryableError, match="two reads of one attempt found different records"):
        given.require_agreement(end, read_table(table, None))


def test_a_bad_record_of_a_range_that_was_not_given_fails_the_attempt() -> None:
    stranger = encode(BadRecordWord(8, BadRecordRow(PartitionId("t", 0), 1, None, "not JSON", None, None)))
    with pytest.raises(RetryableError, match="not given"):
        result_of(read_table(pa.table({CONTROL: [stranger]}), None), edges())


def test_the_same_word_twice_among_words_alone_fails_the_attempt() -> None:
    with pytest.raises(RetryableError, match="read twice"):
        read_table(pa.table({CONTROL: [WORD, WORD]}), None)


def test_results_of_jobs_are_one_result() -> None:
    letter = DeadLetter("right", BadRecordRow(PartitionId("t", 0), 1, None, "not JSON", None, None))
    word = ("left", RangeManifest(7, PartitionId("t", 0), 3, Digest()))
    first = ProcessResult((word,), (), {"a": WrittenUpdates(()), "b": WrittenUpdates(())})
    second = ProcessResult((), (letter,), {"c": WrittenUpdates(())})
    both = joined([first, second])
    assert both.manifests == (word,)
    assert both.bad_records == (letter,)
    assert list(both.updates) == ["a", "b", "c"]


def test_a_job_that_can_not_be_cancelled_does_not_hide_why_another_failed(caplog):
    def fail() -> None:
        raise RetryableError("a task was lost")

    def cancel() -> None:
        raise OSError("the engine is gone")

    with pytest.raises(RetryableError, match="a task was lost"):
        run_all([fail, lambda: None], cancel)
    assert "the engine is gone" in caplog.text


def test_tasks_that_take_too_long_are_cancelled_until_they_end_and_that_is_said():
    ended = threading.Event()
    calls: list[float] = []

    def cancel() -> None:
        calls.append(time.monotonic())
        if len(calls) == 1:
            raise OSError("the engine was not asked")
        ended.set()

    def be_cancelled() -> None:
        assert ended.wait(30)
        raise FatalError("a job was cancelled")

    said = r"sending: its tasks took longer than 0.1 s \(batch_timeout\) and were cancelled"
    with pytest.raises(RetryableError, match=said), within(timedelta(seconds=0.1), cancel, "sending"):
        be_cancelled()
    assert len(calls) >= 2


def test_tasks_that_fail_in_time_raise_what_they_raised():
    with pytest.raises(FatalError, match="of its own"), within(timedelta(minutes=1), lambda: None, "sending"):
        raise FatalError("of its own")
    assert not [thread for thread in threading.enumerate() if thread.name == "trident-limit"]


class Latest(Combiner[datetime]):
    result_type = "timestamp"

    def init(self, *values: object) -> datetime | None:
        (value,) = values
        return value if isinstance(value, datetime) else None

    def combine(self, left: datetime, right: datetime) -> datetime:
        return max(left, right)


LATEST = cast("Combiner[object]", Latest("at"))


def _moments(*values: object, type_: pa.DataType) -> pa.ListArray[Any]:
    structure = pa.StructArray.from_arrays([pa.array(values, type_)], names=["f0"])
    return pa.ListArray.from_arrays(pa.array([0, len(values)], pa.int32()), structure)


def test_a_combiner_is_given_moments_in_utc() -> None:
    """02:30 and then 02:10 in Berlin, in the hour that comes twice: the second one is later."""
    summer = datetime(2026, 10, 25, 0, 30, tzinfo=UTC)
    winter = summer + timedelta(minutes=40)
    berlin = _moments(summer, winter, type_=pa.timestamp("us", "Europe/Berlin"))
    assert fold(LATEST, berlin, MOMENTS) == [winter]
    given = values_of(pa.array([summer, winter], pa.timestamp("us", "Europe/Berlin")), "at", "combiner")
    assert [str(each) for each in given] == [str(summer), str(winter)]


def test_what_no_combiner_can_be_given_is_told() -> None:
    far = _moments(253_402_300_800_000_000, type_=pa.timestamp("us", "UTC"))
    with pytest.raises(UncomputableError, match="field 'at' has a moment outside of the years 1 to 9999"):
        fold(LATEST, far, MOMENTS)


def test_a_refusal_stays_one_on_its_way_from_a_task() -> None:
    refused = trace("trident.base.errors.RefusedError: column 'k' of the staged updates holds NUL", file=LIBRARY)
    error = classify(refused, "job")
    assert type(error) is RefusedError
    assert "column 'k'" in str(error)


class _Others:
    """Two threads that want to enter while a first one is in."""

    def __init__(self, alone: FirstAlone) -> None:
        self.entered: list[str] = []
        self.given_up = StopSignal()
        self._threads = [
            threading.Thread(target=self._enter, args=(alone, name, signal))
            for name, signal in (("wanted", StopSignal()), ("given up", self.given_up))
        ]
        for thread in self._threads:
            thread.start()

    def _enter(self, alone: FirstAlone, name: str, signal: StopSignal) -> None:
        with alone.turn(signal):
            self.entered.append(name)

    def have_come(self, number: int) -> bool:
        deadline = time.monotonic() + 10
        while len(self.entered) < number and time.monotonic() < deadline:
            time.sleep(0.01)
        return len(self.entered) == number

    def join(self) -> None:
        for thread in self._threads:
            thread.join(10)


def test_all_others_wait_for_the_first_and_go_side_by_side_then():
    alone = FirstAlone()
    with alone.turn(StopSignal()):
        others = _Others(alone)
        time.sleep(0.2)
        assert others.entered == []
    assert others.have_come(2)
    others.join()
    with alone.turn(StopSignal()), alone.turn(StopSignal()):
        pass  # nobody is the first again


def test_a_first_one_that_fails_keeps_nobody_waiting():
    alone = FirstAlone()
    others: list[_Others] = []

    def fail() -> None:
        with alone.turn(StopSignal()):
            others.append(_Others(alone))
            raise RetryableError("lost")

    with pytest.raises(RetryableError):
        fail()
    assert others[0].have_come(2)
    others[0].join()


def test_what_was_given_up_does_not_wait_for_the_first():
    alone = FirstAlone()
    with alone.turn(StopSignal()):
        others = _Others(alone)
        others.given_up.set()
        assert others.have_come(1)
        assert others.entered == ["given up"]
    others.join()


def test_a_first_one_that_is_slow_keeps_the_others_only_so_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their time limit is running: the first one's slowness would be held against them."""
    monkeypatch.setattr(parallel, "_LONGEST_TURN_S", 0.3)
    alone = FirstAlone()
    with alone.turn(StopSignal()):
        others = _Others(alone)
        assert others.have_come(2)
    others.join()


def test_a_first_one_that_never_comes_back_keeps_nobody_waiting_once_that_is_said():
    alone = FirstAlone()
    with alone.turn(StopSignal()):
        others = _Others(alone)
        alone.end()
        assert others.have_come(2)
    others.join()


@pytest.mark.parametrize(
    ("widths", "waits"), [((), False), ((0,), False), ((1,), True), ((ONE_TASKS,), True), ((12_000, 12_000), False)]
)
def test_small_batches_with_records_wait_for_the_first_one(widths: tuple[int, ...], waits: bool) -> None:
    edges = {
        f"s{number}": (Edge(number + 1, OffsetRange(PartitionId("t", 0), "id", 0, width)),)
        for number, width in enumerate(widths)
    }
    batch = BatchId(Owner("t", "life"), Epoch(1, "token"), 1, 1)
    request = ProcessRequest(batch, 1, datetime(2024, 1, 1, tzinfo=UTC), edges)
    plain, slow = SimpleNamespace(runs_user_code=False), SimpleNamespace(runs_user_code=True)
    assert goes_alone(request, cast(list[Job], [plain])) is waits
    assert not goes_alone(request, cast(list[Job], [plain, slow])), "a user's function may be slow by itself"


ENTRIES = pa.struct([("n", pa.int64()), ("at", pa.timestamp("us", "UTC")), ("by", pa.map_(pa.string(), pa.int8()))])


class Told(Combiner[dict[str, object]]):
    """Keeps what `combine` was given."""

    result_type = "struct<n: bigint, at: timestamp, by: map<string, tinyint>>"

    def __init__(self, *fields: str) -> None:
        super().__init__(*fields)
        self.given: list[object] = []

    def init(self, *values: object) -> dict[str, object]:
        at = datetime(2026, 7, 2, 0, 30, tzinfo=timezone(timedelta(hours=2)))
        return {"n": 2.0, "by": {"b": 1, "a": 2}} if values[0] == 1 else {"n": 3, "at": at, "by": None}

    def combine(self, left: dict[str, object], right: dict[str, object]) -> dict[str, object]:
        self.given += [left, right]
        return {"n": 9.0}


def test_what_init_and_combine_return_is_given_on_as_a_state_gives_it_back() -> None:
    """So that no cut into batches shows: a field that was left out is there, a map is in order, a moment in UTC."""
    told = Told("f")
    assert fold(cast("Combiner[object]", told), lists([1, 2, 1]), Settling(ENTRIES)) == [
        {"n": 9, "at": None, "by": None}
    ]
    assert told.given == [value_of(text_of(each, ENTRIES), ENTRIES) for each in told.given]
    first, second, both, _ = told.given
    assert isinstance(first, dict)
    assert list(first["by"]) == ["a", "b"]
    assert [type(first["n"]), first["at"]] == [int, None]
    assert isinstance(second, dict)
    assert second["at"].replace(hour=0) == datetime(2026, 7, 1, 0, 30, tzinfo=UTC)
    assert both == {"n": 9, "at": None, "by": None}


def test_rows_that_records_make_are_placed_behind_each_other_by_record() -> None:
    order = pa.array([b"x", b"y", b"z"], pa.binary())
    parents, counts = np.array([0, 0, 0, 2, 2]), np.array([3, 0, 2])
    places = [value.as_py() for value in arrow_lists._orders(order, parents, counts)]
    assert places == [b"x\0\0\0\0", b"x\0\0\0\1", b"x\0\0\0\2", b"z\0\0\0\0", b"z\0\0\0\1"]
