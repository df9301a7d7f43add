"""Functions and combiners of a user: what can't work is said when it is given, or with what it must return."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator
from types import SimpleNamespace

import pyarrow as pa
import pytest
from pyspark.sql.types import LongType, StringType, StructField, StructType

from trident import Aggregator, Combiner, ConfigurationError, Count, MultiReducer, Reducer, Topology
from trident.base.control import CONTROL
from trident.base.errors import RefusedError
from trident.graph.nodes import SourceNode
from trident.language.stream import Stream
from trident.operations.aggregate import fold
from trident.operations.aggregators.nested import Settling
from trident.operations.arrow import Add, Expand, Keep, Replace
from trident.operations.arrow_lists import Look
from trident.operations.base import Fields
from trident.operations.row_functions import RowMask, RowValues
from trident.operations.user_objects import ready
from trident.spouts import FixedBatchSpout
from trident.state import BackingMapState

NUMBER: pa.DataType = pa.int64()
TEXT: pa.DataType = pa.string()
DECLARED = pa.schema([("m", NUMBER)])
AFTER = pa.schema([("n", NUMBER), (CONTROL, TEXT)])
WIDER = pa.schema([("n", NUMBER), ("m", NUMBER), (CONTROL, TEXT)])
REPLACED = pa.schema([("m", NUMBER), (CONTROL, TEXT)])
RECORDS = pa.RecordBatch.from_arrays([pa.array([1, 2]), pa.nulls(2, pa.string())], schema=AFTER)
FIELDS = StructType([StructField("a", StringType()), StructField("n", LongType())])
LOCK = threading.Lock()


class Longest(Combiner[str]):
    result_type = "string"
    forgets = False

    def init(self, *values: object) -> str:
        return str(values[0])

    def combine(self, left: str, right: str) -> str:
        return None if self.forgets else max(left, right, key=len)  # type: ignore[return-value]


class Forgetful(Longest):
    forgets = True


class Locked(Longest):
    def __init__(self, field: str) -> None:
        super().__init__(field)
        self.lock = threading.Lock()


class WithoutFields(Longest):
    def __init__(self) -> None:
        pass


def stream() -> Stream:
    spout = FixedBatchSpout("a string, n bigint", [])
    sample = SimpleNamespace(schema=FIELDS)
    return Stream(Topology("t"), SourceNode("in", spout), sample)  # type: ignore[arg-type]  # Spark is not asked


def steps(function: Callable[[pa.RecordBatch], object]) -> dict[str, Callable[..., object]]:
    return {
        "filter": Keep(function, AFTER),  # type: ignore[arg-type]
        "each": Add(function, DECLARED, WIDER),  # type: ignore[arg-type]
        "map": Replace(function, DECLARED, REPLACED),  # type: ignore[arg-type]
        "flat_map": Expand(function, DECLARED, REPLACED, in_runs=True),  # type: ignore[arg-type]
    }


@pytest.mark.parametrize("verb", steps(lambda _: None))
@pytest.mark.parametrize(
    ("value", "said"),
    [(None, "returned None"), (7, "returned int"), ("abc", "returned str"), ([[1]], ""), ([None], "")],
)
def test_a_function_that_returns_no_arrow_data_is_told_what_to_return(verb: str, value: object, said: str) -> None:
    step = steps(lambda _: value)[verb]
    with pytest.raises(ConfigurationError, match=f"given to {verb} returned .*; it must return an? ") as caught:
        list(step([RECORDS]))  # type: ignore[call-overload]
    assert said in str(caught.value)
    assert "nothing of the batch was applied" in str(caught.value)


def forgets(batch: pa.RecordBatch) -> None:
    """Return nothing."""


class Forgets:
    def __call__(self, batch: pa.RecordBatch) -> None:
        """Return nothing."""


@pytest.mark.parametrize("verb", steps(forgets))
@pytest.mark.parametrize(
    ("function", "called"),
    [(forgets, "forgets"), (functools.partial(forgets), "forgets"), (Forgets(), "Forgets")],
    ids=["function", "partial", "object"],
)
def test_what_a_function_must_not_return_is_said_with_its_line(
    verb: str, function: Callable[[pa.RecordBatch], object], called: str
) -> None:
    code = forgets.__code__ if called == "forgets" else Forgets.__call__.__code__
    with pytest.raises(ConfigurationError) as caught:
        list(steps(function)[verb]([RECORDS]))  # type: ignore[call-overload]
    assert str(caught.value).endswith(f"was applied ({called} at {__file__}:{code.co_firstlineno})")
    assert ("a missing yield or return?" in str(caught.value)) is (verb == "flat_map")


@pytest.mark.parametrize("verb", steps(forgets))
def test_what_a_users_own_code_raises_with_our_errors_is_left_as_it_is(verb: str) -> None:
    """With a text of this library's it would be taken for one of its own, which are shown."""

    def refuse(batch: pa.RecordBatch) -> object:
        raise ConfigurationError("a secret")

    with pytest.raises(ConfigurationError) as caught:
        list(steps(refuse)[verb]([RECORDS]))  # type: ignore[call-overload]
    assert str(caught.value) == "a secret"
    assert caught.traceback[-1].name == "refuse"


@pytest.mark.parametrize(
    ("function", "verb", "said"),
    [
        (lambda row: iter_of(row), "map_row", r"is a generator .* return one row \(flat_map_row takes several\)"),
        (lambda row: iter_of(row), "filter_row", "is a generator .* return True or False"),
    ],
)
def test_a_generator_where_one_result_is_wanted_is_said(
    function: Callable[[dict[str, object]], object], verb: str, said: str
) -> None:
    step = RowValues(function, DECLARED, verb) if verb == "map_row" else RowMask(function, verb)  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match=f"given to {verb} {said}"):
        step(RECORDS)


def iter_of(row: dict[str, object]) -> Iterator[object]:
    yield row["n"]


class Unready:
    def prepare(self) -> None:
        """Take no context."""

    def __call__(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        return batch


class Unclean(Unready):
    def prepare(self, context: object) -> None:  # type: ignore[override]
        """Take it."""

    def cleanup(self, why: str) -> None:
        """Want what nobody gives."""


class UnreadySides(MultiReducer[None]):
    def prepare(self) -> None:
        """Take no context."""

    def init(self, group: tuple[object, ...]) -> None:
        return None

    def execute(self, kept: None, stream: int, row: dict[str, object]) -> object:
        return None


def test_an_object_that_can_not_be_made_ready_is_refused_when_it_is_given() -> None:
    with pytest.raises(ConfigurationError, match=r"prepare of the function given to map must be .*\(self, context\)"):
        stream().map(Unready(), "m bigint")
    with pytest.raises(ConfigurationError, match=r"cleanup of the function given to peek must be def cleanup\(self\)"):
        stream().peek(Unclean())
    given = stream()
    with pytest.raises(ConfigurationError, match="prepare of UnreadySides given to multi_reduce must be"):
        given._topology.multi_reduce([given], UnreadySides(), "m bigint")


class Yielding:
    def prepare(self, context: object) -> Iterator[None]:
        yield

    def __call__(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        return batch


class Promising(Yielding):
    async def prepare(self, context: object) -> None:  # type: ignore[override]
        """Be run by nobody."""


def test_a_lifecycle_that_would_run_nothing_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="prepare of the function given to map has a yield"):
        stream().map(Yielding(), "m bigint")
    with pytest.raises(ConfigurationError, match="prepare of the function given to peek is asynchronous"):
        stream().peek(Promising())


class Hidden:
    """Its methods don't tell by themselves that they return promises."""

    def __init__(self, method: str, made: Callable[[], object]) -> None:
        setattr(self, method, lambda *given: made())


async def promised() -> None:
    """Be run by nobody."""


@pytest.mark.parametrize("made", [lambda: iter_of({"n": 1}), promised])
@pytest.mark.parametrize("method", ["prepare", "cleanup"])
def test_a_lifecycle_that_has_run_nothing_is_an_error_of_the_task(method: str, made: Callable[[], object]) -> None:
    with (
        pytest.raises(ConfigurationError, match=f"{method} of Hidden returned a .*, of which nothing has run"),
        ready(Hidden(method, made), "map"),
    ):
        pass


def test_what_peek_s_function_has_not_run_is_an_error() -> None:
    look = Look(lambda batch: (row for row in batch.to_pylist()), RECORDS.schema)
    with pytest.raises(ConfigurationError, match="given to peek returned a generator, of which nothing has run"):
        list(look([RECORDS]))


def test_a_count_takes_no_field() -> None:
    with pytest.raises(ConfigurationError, match=r"Count takes no fields, .*FilterNull"):
        Count("amount")
    assert Count() == Count()


def test_a_combiner_that_forgets_to_return_loses_nothing_silently() -> None:
    """Taken for "no value", the result of two records would be that of the second."""
    rows = [{"f0": "a", "row": True}, {"f0": "b", "row": True}, {"f0": "c", "row": True}]
    lists = pa.array([rows], pa.list_(pa.struct([("f0", pa.string()), ("row", pa.bool_())])))
    assert isinstance(lists, pa.ListArray)
    with pytest.raises(ConfigurationError, match=r"Forgetful.combine returned None; it must return"):
        fold(Forgetful("a"), lists, Settling(pa.string()))  # type: ignore[arg-type]  # of texts
    with pytest.raises(RefusedError, match=r"Forgetful.combine returned None for a stored and a new value"):
        Forgetful("a").combine_values("x", "y")
    assert fold(Longest("a"), lists, Settling(pa.string())) == ["a"]  # type: ignore[arg-type]  # of texts


def locked(batch: pa.RecordBatch) -> pa.RecordBatch:
    with LOCK:
        return batch


def with_two(left: pa.RecordBatch, right: pa.RecordBatch) -> pa.RecordBatch:
    return left if left else right


async def later(batch: pa.RecordBatch) -> pa.RecordBatch:
    return batch


@pytest.mark.parametrize("verb", ["filter", "each", "map", "flat_map"])
def test_a_function_that_can_not_run_in_a_task_is_refused_when_it_is_given(verb: str) -> None:
    connection = threading.RLock()
    password = "secret-password"

    def capturing(batch: pa.RecordBatch) -> pa.RecordBatch:
        with connection:
            return batch if password else batch.slice(0)

    def give(function: object) -> object:
        rest = () if verb == "filter" else ("m bigint",)
        return getattr(stream(), verb)(function, *rest)

    with pytest.raises(ConfigurationError, match=f"function given to {verb} can't be sent.*'connection'") as caught:
        give(capturing)
    assert "secret-password" not in str(caught.value)
    with pytest.raises(ConfigurationError, match=f"function given to {verb} can't be sent"):
        give(functools.partial(with_two, LOCK))  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match=f"function given to {verb} must take one argument"):
        give(with_two)
    with pytest.raises(ConfigurationError, match=f"function given to {verb} is asynchronous"):
        give(later)


def test_a_combiner_that_can_not_run_in_a_task_is_refused_when_it_is_given() -> None:
    with pytest.raises(ConfigurationError, match=r"Locked for 'longest' can't be sent.*'lock'"):
        stream().group_by("n").aggregate(longest=Locked("a"))
    with pytest.raises(ConfigurationError, match=r"must call super\(\).__init__"):
        WithoutFields().check("longest", Fields(FIELDS))


def test_a_map_state_needs_a_map() -> None:
    with pytest.raises(ConfigurationError, match="backing_map must be an object with multi_get and multi_put"):
        BackingMapState("s", None)  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="backing_map must be an object with multi_get and multi_put"):
        BackingMapState("s", {})  # type: ignore[arg-type]


def test_what_is_right_is_still_taken() -> None:
    assert stream().group_by("a", "n").keys == ("a", "n")
    Count().check("n", Fields(FIELDS))


class TakesOne(Reducer[int]):
    result_type = "bigint"

    def init(self) -> int:
        return 0

    def reduce(self, reduced: int, n: object) -> int:  # type: ignore[override]
        return reduced


class TakesAll(TakesOne):
    def reduce(self, reduced: int, *values: object) -> int:
        return reduced


class TakesNone(Aggregator[list[int]]):
    schema = "n bigint"

    def init(self) -> list[int]:
        return []

    def aggregate(self, kept: list[int]) -> None:  # type: ignore[override]
        kept.append(1)

    def complete(self, kept: list[int]) -> object:
        return len(kept)


def test_methods_that_do_not_take_what_they_are_given_are_refused_when_it_is_built() -> None:
    fields = Fields(FIELDS)
    TakesOne("n").check("TakesOne for 'x'", fields)
    TakesAll("n", "a").check("TakesAll for 'x'", fields)
    TakesNone().check("TakesNone", fields)
    for made, text in (
        (TakesOne("n", "a"), "reduce of it is given the value so far and the value of n, a, and does not take that"),
        (TakesOne(), "reduce of it is given the value so far, and does not take that"),
        (TakesNone("n"), "aggregate of it is given what init returned and the value of n, and does not take that"),
    ):
        with pytest.raises(ConfigurationError, match=f"{text}.*nothing was started"):
            made.check("it", fields)


@pytest.mark.parametrize("value", [None, 5, {"m": 1}, {}])
def test_a_dict_for_a_single_field_of_maps_is_its_value_whatever_its_keys_say(value: object) -> None:
    maps = pa.schema([("m", pa.map_(pa.string(), pa.map_(pa.string(), pa.int64()) if value == {"m": 1} else NUMBER))])
    wanted = value if isinstance(value, dict | int | None) else None
    given = {"m": wanted} if value != {} else {}
    (made,) = RowValues(lambda row: given, maps, "map_row")(RECORDS.select(["n"]))
    inner = [("m", [("m", 1)])] if value == {"m": 1} else [("m", wanted)]
    assert list(made.to_pylist()) == [inner if given else []] * 2  # type: ignore[misc]
