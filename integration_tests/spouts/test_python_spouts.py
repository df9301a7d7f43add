"""A user's spout in plain Python: exactly once over runs and deaths, held to its ranges and its schema."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from trident import Count, SqliteLedger, Sum, Topology, reset
from trident.base.crash_points import CrashPoint, armed
from trident.base.errors import ConfigurationError, FatalError
from trident.spouts import PythonSpout, SpoutKind
from trident.state import SqliteState, SqliteTable

Row = tuple[str, int]


class Lines(PythonSpout):
    """Files of a folder: each is a partition, each line a position; an empty line holds no record."""

    schema = "word string, n bigint"
    max_records_per_batch = 5

    def __init__(self, folder: str, kind: SpoutKind = SpoutKind.TRANSACTIONAL) -> None:
        self.folder = folder
        self.kind = kind

    def identity(self) -> Mapping[str, str]:
        return {"folder": self.folder}

    def bounds(self) -> Mapping[int, tuple[int, int]]:
        return {int(file.name): (0, len(file.read_text().splitlines())) for file in Path(self.folder).iterdir()}

    def read(self, partition: int, start: int, stop: int) -> Iterable[Row | None]:
        for line in Path(self.folder, str(partition)).read_text().splitlines()[start:stop]:
            yield (line.split()[0], int(line.split()[1])) if line else None


def write(folder: Path, partition: int, count: int, first: int = 0) -> list[Row]:
    folder.mkdir(exist_ok=True)
    rows = [(f"w{number % 3}", number) for number in range(first, first + count)]
    with (folder / str(partition)).open("a") as file:
        file.write("".join("\n" if n % 4 == 3 else f"{word} {n}\n" for word, n in rows))
    return [(word, n) for word, n in rows if n % 4 != 3]


def topology(spout: PythonSpout) -> Topology:
    made = Topology("lines")
    stream = made.stream("lines", spout)
    stream.group_by("word").persistent_aggregate(SqliteState("sums"), times=Count(), total=Sum("n"))
    stream.to_table(SqliteTable("lines"))
    return made


def stored(file: Path) -> list[Row]:
    with sqlite3.connect(file) as connection:
        return sorted(connection.execute("SELECT word, n FROM lines").fetchall())


@pytest.mark.parametrize("kind", list(SpoutKind))
def test_each_row_counts_once_over_runs_and_new_partitions(
    spark: SparkSession, tmp_path: Path, kind: SpoutKind
) -> None:
    folder, file = tmp_path / "lines", tmp_path / "ledger.sqlite"
    rows = write(folder, 0, 13) + write(folder, 1, 2)
    topology(Lines(str(folder), kind)).run(spark, ledger=SqliteLedger(file), until="caught_up")
    assert stored(file) == sorted(rows)
    rows += write(folder, 1, 9, first=2) + write(folder, 7, 6)
    topology(Lines(str(folder), kind)).run(spark, ledger=SqliteLedger(file), until="caught_up")
    assert stored(file) == sorted(rows)
    with sqlite3.connect(file) as connection:
        assert connection.execute("SELECT sum(times), sum(total) FROM sums").fetchone() == (
            len(rows),
            sum(n for _, n in rows),
        )


def test_the_spout_that_the_docs_show_counts_whole_lines_of_its_own_file(spark: SparkSession, tmp_path: Path) -> None:
    text = (Path(__file__).parents[2] / "docs" / "language.md").read_text()
    code = text.split("```python\n", 1)[1].split("```")[0]
    shown: dict[str, Callable[[str], PythonSpout]] = {}
    exec(code, {"PythonSpout": PythonSpout, "Path": Path, "__name__": "shown"}, shown)

    def run(file: Path) -> list[str]:
        made = Topology("lines")
        made.stream("lines", shown["Lines"](str(file))).to_table(SqliteTable("lines"))
        made.run(spark, ledger=SqliteLedger(tmp_path / "ledger.sqlite"), until="caught_up")
        with sqlite3.connect(tmp_path / "ledger.sqlite") as connection:
            return [line for (line,) in connection.execute("SELECT line FROM lines ORDER BY line")]

    file = tmp_path / "in.txt"
    file.write_bytes(b"a\nb\x0bc\nhal")
    assert run(file) == ["a", "b\x0bc"]
    file.write_bytes(b"a\nb\x0bc\nhalf\n")
    assert run(file) == ["a", "b\x0bc", "half"]
    other = tmp_path / "other.txt"
    other.write_bytes(b"x\n")
    with pytest.raises(FatalError, match=r"other\.txt"):
        run(other)


class _DeathError(Exception):
    pass


@pytest.mark.parametrize("kind", list(SpoutKind))
@pytest.mark.parametrize("point", [CrashPoint.AFTER_PLAN, CrashPoint.AFTER_PROCESSING, CrashPoint.IN_PIN_TRANSACTION])
def test_a_run_that_dies_goes_on_where_it_stood(
    spark: SparkSession, tmp_path: Path, kind: SpoutKind, point: CrashPoint
) -> None:
    folder, file = tmp_path / "lines", tmp_path / "ledger.sqlite"
    rows = write(folder, 0, 17) + write(folder, 1, 5)

    def die(reached: CrashPoint, txid: int) -> None:
        if reached is point and txid == 2:
            raise _DeathError

    with armed(die), pytest.raises(_DeathError):
        topology(Lines(str(folder), kind)).run(spark, ledger=SqliteLedger(file), until="caught_up")
    rows += write(folder, 0, 4, first=17)
    topology(Lines(str(folder), kind)).run(spark, ledger=SqliteLedger(file), until="caught_up")
    assert stored(file) == sorted(rows)


class Given(PythonSpout):
    """One partition, of what a function yields."""

    schema = "word string, n bigint, price decimal(5,2)"

    def __init__(self, yielded: Callable[[int, int], Iterable[object]], stop: int = 3) -> None:
        self.yielded = yielded
        self.stop = stop

    def bounds(self) -> Mapping[int, tuple[int, int]]:
        return {0: (0, self.stop)}

    def read(self, partition: int, start: int, stop: int) -> Iterable[object]:  # type: ignore[override]
        return self.yielded(start, stop)


GOOD = ("a", 1, Decimal("1.50"))
BAD: dict[str, tuple[str, list[object]]] = {
    "more rows": ("yielded more rows", [GOOD] * 4),
    "a short row": ("2 values for the 3 fields word, n, price", [("a", 1)] * 3),
    "another name": ("names 'm', no field of it and leaves out 'n', 'price'", [{"word": "a", "m": 1}] * 3),
    "a name left out": (r"leaves out 'price' \(a null is said as None", [{"word": "a", "n": 1}] * 3),
    "a text for a row": ("type str, where a row is a tuple", ["abc"] * 3),
    "a fraction": ("type float for the field 'n', which bigint does not hold", [("a", 2.5, None)] * 3),
    "a text": ("type str for the field 'n', which bigint", [("a", "x", None)] * 3),
    "too many digits": (
        "type Decimal for the field 'price', which decimal\\(5,2\\) does not hold",
        [("a", 1, Decimal("1.005"))] * 3,
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_what_a_read_must_not_yield_stops_the_topology(spark: SparkSession, tmp_path: Path, name: str) -> None:
    text, rows = BAD[name]
    made = Topology("given")
    made.stream("s", Given(lambda start, stop: iter(rows))).to_table(SqliteTable("rows"))
    with pytest.raises(FatalError, match=f"{text}.*nothing of the batch was applied"):
        made.run(spark, ledger=SqliteLedger(tmp_path / "ledger.sqlite"), until="caught_up")


def test_a_short_read_is_tried_again_and_nothing_is_skipped(spark: SparkSession, tmp_path: Path) -> None:
    marker, file = tmp_path / "short", tmp_path / "ledger.sqlite"

    def short_once(start: int, stop: int) -> Iterable[object]:
        rows = [{"word": f"r{number}", "n": number, "price": None} for number in range(start, stop)]
        if marker.exists():
            return rows
        marker.touch()
        return rows[:-1]

    made = Topology("given")
    made.stream("s", Given(short_once)).project("word").to_table(SqliteTable("rows"))
    made.run(spark, ledger=SqliteLedger(file), until="caught_up")
    with sqlite3.connect(file) as connection:
        assert connection.execute("SELECT word FROM rows ORDER BY 1").fetchall() == [("r0",), ("r1",), ("r2",)]
        assert connection.execute("SELECT tries FROM trident_commit").fetchall() == [(2,)]


def test_what_cannot_be_is_refused_when_it_is_built(spark: SparkSession) -> None:
    spout = Given(lambda start, stop: ())
    spout.lock = threading.Lock()  # type: ignore[attr-defined]
    with pytest.raises(ConfigurationError, match=r"spout of stream 's' can't be sent.*'lock'"):
        Topology("t").stream("s", spout)

    class Nameless(Given):
        schema = 5  # type: ignore[assignment]

    with pytest.raises(ConfigurationError, match="must set schema"):
        Topology("t").stream("s", Nameless(lambda start, stop: ()))

    class Wrong(Given):
        schema = "word lots of"

    with pytest.raises(ConfigurationError, match="is not valid"):
        Topology("t").stream("s", Wrong(lambda start, stop: ()))


class Nested(Given):
    """What is inside of lists and structures."""

    schema = "all array<bigint>, one struct<day date>"


@pytest.mark.parametrize(
    ("row", "text"),
    [
        (([1, 2.5], {"day": date(2026, 1, 1)}), "the field 'all'"),
        (([1], {"day": datetime(2026, 1, 1, 5, tzinfo=UTC)}), "the field 'one'"),
    ],
)
def test_values_inside_of_lists_and_structures_are_not_cut(
    spark: SparkSession, tmp_path: Path, row: object, text: str
) -> None:
    made = Topology("nested")
    stream = made.stream("s", Nested(lambda start, stop: iter([row] * 3)))
    stream.map(text=F.to_json(F.struct("all", "one"))).to_table(SqliteTable("rows"))
    with pytest.raises(FatalError, match=f"{text}.*does not hold as it is; nothing of the batch was applied"):
        made.run(spark, ledger=SqliteLedger(tmp_path / "ledger.sqlite"), until="caught_up")


class Says(Given):
    """Says of its positions what it is told to."""

    def __init__(self, said: object) -> None:
        super().__init__(lambda start, stop: [(f"r{n}", n, None) for n in range(start, stop)])
        self.said = said

    def bounds(self) -> Mapping[int, tuple[int, int]]:
        if isinstance(self.said, Exception):
            raise self.said
        return self.said  # type: ignore[return-value]


SAID: dict[str, tuple[str, object]] = {
    "nothing": ("returned None", None),
    "a list": ("returned a value of the type list", [(0, 3)]),
    "a partition by name": ("names the partition 'a'", {"a": (0, 3)}),
    "a truth for a partition": ("names the partition True", {True: (0, 3)}),
    "a partition below zero": ("names the partition -1", {-1: (0, 3)}),
    "one number": ("says a value of the type int of partition 0", {0: 3}),
    "three numbers": ("says a value of the type tuple of partition 0", {0: (0, 1, 2)}),
    "a float": (".*from a value of the type int to a value of the type float", {0: (0, 3.0)}),
    "a decimal": (".*to a value of the type Decimal", {0: (0, Decimal(3))}),
    "backwards": (".*positions begin at 0, only grow", {0: (0, -1)}),
    "too far": (".*fit into 64 bits", {0: (0, 2**63)}),
    "an error": (
        r"raised ValueError at .*test_python_spouts.py.*in bounds\. Nothing was planned",
        ValueError("secret"),
    ),
}


@pytest.mark.parametrize("name", SAID)
def test_bounds_that_cannot_be_stop_the_start_and_are_not_written_down(
    spark: SparkSession, tmp_path: Path, name: str
) -> None:
    text, said = SAID[name]
    spout = Says(said)
    made = Topology("given")
    made.stream("s", spout).to_table(SqliteTable("rows"))
    file = tmp_path / "ledger.sqlite"
    with pytest.raises(FatalError, match=f"stream 's': bounds.. {text}") as raised:
        made.run(spark, ledger=SqliteLedger(file), until="caught_up")
    assert "secret" not in str(raised.value)
    spout.said = {np.int64(0): (np.int32(0), np.int64(3))}
    made.run(spark, ledger=SqliteLedger(file), until="caught_up")
    with sqlite3.connect(file) as connection:
        assert connection.execute("SELECT word FROM rows ORDER BY 1").fetchall() == [("r0",), ("r1",), ("r2",)]


@pytest.mark.parametrize(
    ("now", "text", "read"), [((5, 8), "are gone from its source before", [5, 6, 7]), ((0, 1), "ends at 1", [0])]
)
def test_a_stream_of_bare_positions_starts_at_no_moment(
    spark: SparkSession, tmp_path: Path, now: tuple[int, int], text: str, read: list[int]
) -> None:
    spout = Says({0: (0, 3)})
    made = Topology("given")
    stream = made.stream("s", spout)
    stream.to_table(SqliteTable("rows"))
    stream.group_by("word").persistent_aggregate(SqliteState("sums"), total=Sum("n"))
    file = tmp_path / "ledger.sqlite"
    ledger = SqliteLedger(file)
    made.run(spark, ledger=ledger, until="caught_up")
    spout.said = {0: now}
    with pytest.raises(FatalError, match=text) as raised:
        made.run(spark, ledger=ledger, until="caught_up")
    assert "MOMENT" not in str(raised.value)
    assert "of topic" not in str(raised.value)
    with pytest.raises(ConfigurationError, match=r"'s' has positions without times.*nothing was changed"):
        reset(made, ledger, states="adopt", start=datetime(2026, 1, 1, tzinfo=UTC))
    reset(made, ledger, states="clear")
    made.run(spark, ledger=ledger, until="caught_up")
    with sqlite3.connect(file) as connection:
        assert connection.execute("SELECT total FROM sums ORDER BY 1").fetchall() == [(n,) for n in read]
