"""A source that can't be read again, on Spark: each batch once, a death recorded, rows held to their schema."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from trident import Count, SqliteLedger, Sum, Topology
from trident.base.crash_points import CrashPoint, armed
from trident.base.errors import ConfigurationError, FatalError
from trident.spouts import NonTransactionalSpout
from trident.state import SqliteState, SqliteTable, StateKind

Row = Mapping[str, object] | Sequence[object]


class Numbers(NonTransactionalSpout):
    """Gives each number once, whoever asks; it has no thread that could be sent anywhere, but a lock like one."""

    schema = "word string, n bigint"
    max_records_per_batch = 5

    def __init__(self, left: list[int], partitions: int = 1) -> None:
        self.left = left
        self.numbers = range(partitions)
        self.given: list[int] = []
        self.applied: list[int] = []
        self.unsendable = iter(left)

    def partitions(self) -> Iterable[int]:
        return self.numbers

    def receive(self, partition: int, most: int) -> Iterable[Row]:
        mine = [n for n in self.left if n % len(self.numbers) == partition][:most]
        for n in mine:
            self.left.remove(n)
            self.given.append(n)
            yield (f"w{n % 3}", n) if n % 2 else {"n": n, "word": f"w{n % 3}"}

    def done(self, partition: int, rows: Sequence[Row]) -> None:
        self.applied += [row["n"] if isinstance(row, Mapping) else row[1] for row in rows]  # type: ignore[misc]


def topology(spout: NonTransactionalSpout, kind: StateKind = StateKind.OPAQUE) -> Topology:
    made = Topology("numbers")
    stream = made.stream("numbers", spout)
    stream.group_by("word").persistent_aggregate(SqliteState("sums", kind=kind), times=Count(), total=Sum("n"))
    stream.to_table(SqliteTable("numbers"))
    return made


def stored(file: Path) -> list[int]:
    with sqlite3.connect(file) as connection:
        times, total = connection.execute("SELECT sum(times), sum(total) FROM sums").fetchone()
        found = [n for (n,) in connection.execute("SELECT n FROM numbers ORDER BY n")]
    assert (times, total) == (len(found), sum(found)), "the state has what the table has"
    return found


def lost(file: Path) -> int:
    return SqliteLedger(file).view().status("numbers").lost_offsets


@pytest.mark.parametrize(("partitions", "kind"), [(1, StateKind.OPAQUE), (3, StateKind.TRANSACTIONAL)])
def test_each_row_counts_once_over_runs(spark: SparkSession, tmp_path: Path, partitions: int, kind: StateKind) -> None:
    file = tmp_path / "ledger.sqlite"
    spout = Numbers(list(range(17)), partitions)
    made = topology(spout, kind)
    made.run(spark, ledger=SqliteLedger(file), until="caught_up")
    spout.left += range(17, 23)
    made.run(spark, ledger=SqliteLedger(file), until="caught_up")
    assert stored(file) == sorted(spout.applied) == list(range(23))
    assert lost(file) == 0


def test_a_large_batch_travels_to_tasks_in_its_order(spark: SparkSession, tmp_path: Path) -> None:
    class Many(Numbers):
        max_records_per_batch = 40_000

        def receive(self, partition: int, most: int) -> Iterable[Row]:
            given, self.left = self.left[:15_000], self.left[15_000:]
            return [(f"p{partition}", n) for n in given]

        def done(self, partition: int, rows: Sequence[Row]) -> None:
            self.applied += [len(rows)]

    spout = Many(list(range(30_000)), 2)
    made = Topology("numbers")
    stream = made.stream("numbers", spout).each_row(lambda row: 2 * int(str(row["n"])), "twice bigint")
    stream.to_table(SqliteTable("last"), write="upsert", key="word")
    made.run(spark, ledger=SqliteLedger(tmp_path / "ledger.sqlite"), until="caught_up")
    with sqlite3.connect(tmp_path / "ledger.sqlite") as connection:
        found = connection.execute("SELECT word, n, twice FROM last ORDER BY word").fetchall()
    assert (found, spout.applied) == ([("p0", 14_999, 29_998), ("p1", 29_999, 59_998)], [15_000, 15_000])


class _DeathError(Exception):
    pass


@pytest.mark.parametrize("point", [CrashPoint.AFTER_PLAN, CrashPoint.AFTER_PROCESSING, CrashPoint.IN_PIN_TRANSACTION])
def test_what_dies_with_a_run_is_recorded_and_the_next_goes_on_behind_it(
    spark: SparkSession, tmp_path: Path, point: CrashPoint
) -> None:
    file = tmp_path / "ledger.sqlite"
    left = list(range(20))
    planned: set[int] = set()

    def die(reached: CrashPoint, txid: int) -> None:
        if reached is CrashPoint.AFTER_PLAN:
            planned.update(first.given)
        if reached is point and txid == 2:
            raise _DeathError

    first = Numbers(left)
    with armed(die), pytest.raises(_DeathError):
        topology(first).run(spark, ledger=SqliteLedger(file), until="caught_up")
    second = Numbers(left)
    topology(second).run(spark, ledger=SqliteLedger(file), until="caught_up")
    found = stored(file)
    assert len(found) == len(set(found))
    assert set(second.given) <= set(found)
    assert lost(file) == len(planned - set(found)) > 0, "of what was received and not planned yet no record knows"
    assert set(range(20)) - set(found) <= set(first.given)
    (loss, *_) = SqliteLedger(file).view().losses("numbers")
    assert "received by a process that ended" in loss.reason


@pytest.mark.parametrize(
    ("row", "text"),
    [
        (("a", 2.5), "type float for the field 'n', which bigint"),
        ({"word": "a"}, r"leaves out 'n' \(a null is said as None"),
        ("ab", "type str, where a row is a tuple"),
    ],
)
def test_a_row_that_does_not_fit_stops_the_topology(
    spark: SparkSession, tmp_path: Path, row: object, text: str
) -> None:
    class Misfit(Numbers):
        def receive(self, partition: int, most: int) -> Iterable[Row]:
            given, self.left = self.left, []
            return [row for _ in given]  # type: ignore[misc]

    with pytest.raises(FatalError, match=rf"receive\(\) gave a row of partition 0 .*{text}.*nothing of the batch"):
        topology(Misfit([1])).run(spark, ledger=SqliteLedger(tmp_path / "ledger.sqlite"), until="caught_up")


def test_it_says_of_itself_what_is_not_promised(spark: SparkSession) -> None:
    assert "Numbers, non-transactional: received once" in topology(Numbers([])).explain()


def test_a_schema_that_is_none_is_refused_when_it_is_built(spark: SparkSession) -> None:
    class Nameless(Numbers):
        schema = 5  # type: ignore[assignment]

    with pytest.raises(ConfigurationError, match="must set schema"):
        Topology("t").stream("s", Nameless([]))


def test_the_spout_that_the_docs_show_takes_a_queue_to_its_end(spark: SparkSession, tmp_path: Path) -> None:
    text = (Path(__file__).parents[2] / "docs" / "language.md").read_text()
    code = next(each.split("```")[0] for each in text.split("```python\n") if "(NonTransactionalSpout)" in each)
    shown: dict[str, Callable[[object], NonTransactionalSpout]] = {}
    exec(code, {"NonTransactionalSpout": NonTransactionalSpout, "__name__": "shown"}, shown)

    class Messages:
        def __init__(self) -> None:
            self.waiting = [(f"m{n}", n) for n in range(7)]
            self.acknowledged: list[str] = []

        def take(self, most: int) -> list[tuple[str, int]]:
            taken, self.waiting = self.waiting[:most], self.waiting[most:]
            return taken

        def acknowledge(self, names: Sequence[str]) -> None:
            self.acknowledged += names

    messages = Messages()
    made = Topology("numbers")
    made.stream("numbers", shown["Messages"](messages)).to_table(SqliteTable("numbers"))
    made.run(spark, ledger=SqliteLedger(tmp_path / "ledger.sqlite"), until="caught_up")
    assert messages.acknowledged == [f"m{n}" for n in range(7)]
    with sqlite3.connect(tmp_path / "ledger.sqlite") as connection:
        assert connection.execute("SELECT count(*), sum(n) FROM numbers").fetchone() == (7, 21)
