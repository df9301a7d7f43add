"""A user's spout in plain Python: exactly once over runs and deaths, held to its ranges and its schema."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from trident import Count, SqliteLedger, Sum, Topology
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
    "a short row": ("a tuple or list", [("a", 1)] * 3),
    "another name": ("a dict by their names", [{"word": "a", "m": 1}] * 3),
    "a fraction": ("does not hold a value as it is", [("a", 2.5, None)] * 3),
    "a text": ("'n' is int64", [("a", "x", None)] * 3),
    "too many digits": ("'price' is decimal", [("a", 1, Decimal("1.005"))] * 3),
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
        rows = [{"word": f"r{number}", "n": number} for number in range(start, stop)]
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


def test_bounds_that_cannot_be_stop_the_start(spark: SparkSession, tmp_path: Path) -> None:
    made = Topology("given")
    made.stream("s", Given(lambda start, stop: (), stop=-1)).to_table(SqliteTable("rows"))
    with pytest.raises(FatalError, match="positions begin at 0 and only grow"):
        made.run(spark, ledger=SqliteLedger(tmp_path / "ledger.sqlite"), until="caught_up")
