"""Folders of files: each is read once, over runs and deaths, and one that is not what it was stops the topology."""

from __future__ import annotations

import json
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from trident import SqliteLedger, Topology, reset, status
from trident.base.crash_points import CrashPoint, armed
from trident.base.errors import ConfigurationError, FatalError
from trident.coordinators.decided import StopKind
from trident.spouts import FileFormat, FileSpout
from trident.spouts.files import folder as looking
from trident.spouts.files.folder import Folder, SeenFile
from trident.state import SqliteTable

SCHEMA = "word string, n bigint, price decimal(9,2)"
Row = tuple[str | None, int, str | None]


@pytest.fixture(autouse=True)
def _quick_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(looking, "_LOOK_SECONDS", 0.05)


def rows_of(first: int, count: int) -> list[Row]:
    return [
        (None if n % 7 == 6 else f"w, {n % 3}", n, None if n % 5 == 4 else f"{n}.25")
        for n in range(first, first + count)
    ]


def write(folder: Path, name: str, rows: Sequence[Row], format_: FileFormat = FileFormat.JSON) -> Path:
    """Put a file into the folder as one is told to: under another name first."""
    folder.mkdir(exist_ok=True)
    made = folder / f"{name}.tmp"
    WRITERS[format_](made, rows)
    return made.rename(folder / name)


def _json(file: Path, rows: Sequence[Row]) -> None:
    lines = (f'{{"word":{json.dumps(word)},"n":{n},"price":{price or "null"}}}' for word, n, price in rows)
    file.write_text("".join(f"{line}\n" for line in lines))


def _csv(file: Path, rows: Sequence[Row]) -> None:
    def text(value: object) -> str:
        return "" if value is None else f'"{value}"' if isinstance(value, str) and "," in value else str(value)

    file.write_text("n,word,price\r\n" + "\r\n".join(f"{n},{text(word)},{text(price)}" for word, n, price in rows))


def _parquet(file: Path, rows: Sequence[Row]) -> None:
    table = pa.table(
        {
            "more": pa.nulls(len(rows), pa.int8()),
            "n": pa.array([n for _, n, _ in rows], pa.int32()),
            "price": pa.array([None if price is None else Decimal(price) for _, _, price in rows], pa.decimal128(6, 2)),
            "word": pa.array([word for word, _, _ in rows], pa.large_string()).dictionary_encode(),
        }
    )
    parquet.write_table(table, file, row_group_size=3)


WRITERS: dict[FileFormat, Callable[[Path, Sequence[Row]], None]] = {
    FileFormat.JSON: _json,
    FileFormat.CSV: _csv,
    FileFormat.PARQUET: _parquet,
}


def spout_of(folder: Path, format_: FileFormat = FileFormat.JSON, partitions: int = 2, most: int = 3) -> FileSpout:
    if format_ is FileFormat.PARQUET:
        return FileSpout(folder, SCHEMA, format=format_, partitions=partitions, max_records_per_batch=2 * most)
    return FileSpout(folder, SCHEMA, format=format_, partitions=partitions, max_bytes_per_batch=60 * most)


def topology(spout: FileSpout) -> Topology:
    made = Topology("files")
    made.stream("files", spout).to_table(SqliteTable("rows"))
    return made


def stored(file: Path) -> list[Row]:
    with sqlite3.connect(file) as connection:
        found = connection.execute("SELECT word, n, price FROM rows ORDER BY n").fetchall()
    return [(word, n, None if price is None else f"{Decimal(str(price)):.2f}") for word, n, price in found]


def run(spark: SparkSession, spout: FileSpout, file: Path) -> list[Row]:
    topology(spout).run(spark, ledger=SqliteLedger(file), until="caught_up")
    return stored(file)


@pytest.mark.parametrize("lines", ["w,1,2.50\n", "w,1,2.50\nw,2,3.50\n", "word,n,prise\n"])
def test_the_first_line_of_each_csv_file_is_looked_at(spark: SparkSession, tmp_path: Path, lines: str) -> None:
    """Also where nothing follows it: what stands there may be a record."""
    folder, file = tmp_path / "in", tmp_path / "ledger.sqlite"
    write(folder, "b.csv", rows_of(0, 3), FileFormat.CSV)
    (folder / "a.csv").write_text(lines)
    text = r"first line of the file '.*a\.csv' does not hold the 3 names word, n, price.*lacks .*price.*header=False"
    with pytest.raises(FatalError, match=text):
        run(spark, spout_of(folder, FileFormat.CSV), file)
    refusal = status("files", SqliteLedger(file)).refusal
    assert refusal is not None
    assert refusal.kind is StopKind.UNPROCESSABLE


@pytest.mark.parametrize("format_", list(FileFormat))
def test_each_file_is_read_once_whatever_its_format(spark: SparkSession, tmp_path: Path, format_: FileFormat) -> None:
    folder, file = tmp_path / "in", tmp_path / "ledger.sqlite"
    rows = rows_of(0, 40)
    write(folder, "b", rows[:17], format_)
    write(folder, "a", rows[17:18], format_)
    write(folder, "c", [], format_)
    for ignored in ("_x", ".x", "x.tmp"):
        (folder / ignored).write_text("no record")
    (folder / "sub").mkdir()
    assert run(spark, spout_of(folder, format_), file) == rows[:18]
    write(folder, "0", rows[18:], format_)
    (folder / "a").unlink()
    assert run(spark, spout_of(folder, format_), file) == rows
    assert run(spark, spout_of(folder, format_), file) == rows


class _DeathError(Exception):
    pass


@pytest.mark.parametrize("format_", list(FileFormat))
@pytest.mark.parametrize("point", [CrashPoint.AFTER_PLAN, CrashPoint.AFTER_PROCESSING, CrashPoint.IN_PIN_TRANSACTION])
def test_a_run_that_dies_goes_on_where_it_stood(
    spark: SparkSession, tmp_path: Path, format_: FileFormat, point: CrashPoint
) -> None:
    folder, file, rows = tmp_path / "in", tmp_path / "ledger.sqlite", rows_of(0, 45)
    for number in range(3):
        write(folder, f"f{number}", rows[number * 11 : number * 11 + 11], format_)

    def die(reached: CrashPoint, txid: int) -> None:
        if reached is point and txid == 2:
            raise _DeathError

    with armed(die), pytest.raises(_DeathError):
        topology(spout_of(folder, format_)).run(spark, ledger=SqliteLedger(file), until="caught_up")
    write(folder, "earlier by name", rows[33:], format_)
    assert run(spark, spout_of(folder, format_), file) == rows


def test_files_come_while_it_runs_and_in_the_order_of_their_numbers(spark: SparkSession, tmp_path: Path) -> None:
    folder, file, rows = tmp_path / "in", tmp_path / "ledger.sqlite", rows_of(0, 60)
    made = Topology("files")
    stream = made.stream("files", spout_of(folder, partitions=1, most=4)).filter(F.col("word").isNotNull())
    stream.to_table(SqliteTable("rows"), write="upsert", key="word")
    write(folder, "z", rows[:20])
    thread = threading.Thread(target=made.run, args=(spark,), kwargs={"ledger": SqliteLedger(file)})
    thread.start()
    try:
        for number, name in ((20, "y"), (40, "x")):
            _wait_for(file, number - 2)
            write(folder, name, rows[number : number + 20])
        _wait_for(file, 59)
    finally:
        made.stop()
        thread.join()
    last = {word: n for word, n, _ in rows if word is not None}
    assert {word: n for word, n, _ in stored(file)} == last


def test_what_a_function_makes_of_records_is_in_their_order_whoever_decodes_them(
    spark: SparkSession, tmp_path: Path
) -> None:
    """What the fast path leaves to Spark comes behind all else of a task: another row of a key would be the last."""
    folder, file = tmp_path / "in", tmp_path / "ledger.sqlite"
    folder.mkdir()
    lines = [f'{{"word":"w","n":{n}}}' for n in range(6)]
    lines[2] = "{'word':'w','n':2}"  # which only Spark's parser takes
    (folder / "a").write_text("".join(f"{line}\n" for line in lines))
    made = Topology("files")
    stream = made.stream("files", FileSpout(folder, "word string, n bigint", format="json"))
    same = stream.flat_map(lambda batch: batch, "word string, n bigint")
    same.to_table(SqliteTable("rows"), write="upsert", key="word")
    with sqlite3.connect(file) as connection:
        connection.execute("CREATE TABLE rows (word TEXT PRIMARY KEY, n BIGINT)")
    made.run(spark, ledger=SqliteLedger(file), until="caught_up")
    with sqlite3.connect(file) as connection:
        assert connection.execute("SELECT * FROM rows").fetchall() == [("w", 5)]


def _wait_for(file: Path, number: int) -> None:
    deadline = time.monotonic() + 60
    while True:
        try:
            if any(n == number for _, n, _ in stored(file)):
                return
        except sqlite3.OperationalError:  # the table is not there yet
            pass
        assert time.monotonic() < deadline
        time.sleep(0.1)


def _grown(file: Path) -> None:
    with file.open("a") as opened:
        opened.write('{"n":99}\n')


def _cut(file: Path) -> None:
    os.truncate(file, 5)


def _replaced(file: Path) -> None:
    text, seen = file.read_text(), file.stat()
    file.unlink()
    file.write_text(text.replace("1", "2"))
    os.utime(file, ns=(seen.st_atime_ns, seen.st_mtime_ns + 1))


@pytest.mark.parametrize("change", [_grown, _cut, _replaced])
@pytest.mark.parametrize("when", ["read", "planned", "being read"])
def test_a_file_that_is_not_what_it_was_stops_the_topology(
    spark: SparkSession, tmp_path: Path, change: Callable[[Path], None], when: str
) -> None:
    folder, file, rows = tmp_path / "in", tmp_path / "ledger.sqlite", rows_of(0, 12)
    first = write(folder, "a", rows)
    spout = spout_of(folder, most=50)
    expected: list[Row] = []
    if when == "read":
        expected = run(spark, spout, file)
        change(first)
    point = {"planned": CrashPoint.AFTER_PLAN, "being read": CrashPoint.BEFORE_PLAN}.get(when)

    def meddle(reached: CrashPoint, txid: int) -> None:
        if reached is point and first.stat().st_mtime_ns == time_of_change:
            change(first)

    time_of_change = first.stat().st_mtime_ns
    text = rf"'{first}' is not what it was when it was found: it had \d+ bytes.*What is done of it stays"
    with armed(meddle), pytest.raises(FatalError, match=text):
        topology(spout).run(spark, ledger=SqliteLedger(file), until="caught_up")
    if when == "read":
        with pytest.raises(FatalError, match=f"{text}.*left out, or counted twice"):
            topology(spout).run(spark, ledger=SqliteLedger(file), until="caught_up")
        assert stored(file) == expected
        return
    if change is _cut:
        with pytest.raises(FatalError, match=f"line 1 of the file '{first}' does not decode.*put a corrected one"):
            topology(spout).run(spark, ledger=SqliteLedger(file), until="caught_up")
        write(folder, "a", rows_of(0, 15))
    assert run(spark, spout, file) == in_file(first)


def in_file(file: Path) -> list[Row]:
    """Return what a JSON file holds now, as it is stored."""
    found = [json.loads(line, parse_float=str) for line in file.read_text().splitlines()]
    return sorted(((each.get("word"), each["n"], each.get("price")) for each in found), key=lambda row: row[1])


def test_a_file_that_is_gone_before_it_was_read_is_named(spark: SparkSession, tmp_path: Path) -> None:
    folder, file, rows = tmp_path / "in", tmp_path / "ledger.sqlite", rows_of(0, 30)
    write(folder, "a", rows[:10])
    gone, kept = write(folder, "b", rows[10:20]), tmp_path / "kept"
    write(folder, "c", rows[20:])

    def take_away(reached: CrashPoint, txid: int) -> None:
        if reached is CrashPoint.AFTER_PLAN and txid == 2 and gone.exists():
            gone.rename(kept)

    spout = spout_of(folder, partitions=1, most=6)
    for _ in range(2):
        with armed(take_away), pytest.raises(FatalError, match=f"'{gone}' is gone before it was read to its end"):
            topology(spout).run(spark, ledger=SqliteLedger(file), until="caught_up")
    kept.rename(gone)
    assert run(spark, spout, file) == rows


@pytest.mark.parametrize("format_", list(FileFormat))
def test_a_file_that_is_found_empty_is_read_or_missed_once_something_is_in_it(
    spark: SparkSession, tmp_path: Path, format_: FileFormat
) -> None:
    folder, file, rows = tmp_path / "in", tmp_path / "ledger.sqlite", rows_of(0, 20)
    spout = spout_of(folder, format_, partitions=1)
    write(folder, "a", rows[:5], format_)
    (folder / "b").touch()
    (folder / "gone").touch()
    assert run(spark, spout, file) == rows[:5]
    (folder / "gone").unlink()  # nothing was ever in it
    write(folder, "c", rows[5:10], format_)
    assert run(spark, spout, file) == rows[:10]
    write(folder, "b", rows[10:], format_)
    kept = tmp_path / "kept"

    def take_away(reached: CrashPoint, txid: int) -> None:
        if reached is CrashPoint.AFTER_PLAN and not kept.exists():
            (folder / "b").rename(kept)

    with armed(take_away), pytest.raises(FatalError, match=f"'{folder / 'b'}' is gone before it was read to its end"):
        topology(spout).run(spark, ledger=SqliteLedger(file), until="caught_up")
    kept.rename(folder / "b")
    assert run(spark, spout, file) == rows


@pytest.mark.parametrize(("format_", "line"), [(FileFormat.JSON, 3), (FileFormat.CSV, 4)])
def test_a_line_that_is_no_record_is_named_by_file_and_line_or_kept(
    spark: SparkSession, tmp_path: Path, format_: FileFormat, line: int
) -> None:
    folder, file, rows = tmp_path / "in", tmp_path / "ledger.sqlite", rows_of(0, 5)
    WRITERS[format_](folder.with_name("whole"), rows)
    lines = folder.with_name("whole").read_text().splitlines(keepends=True)
    folder.mkdir()
    (folder / "a").write_text(f"{lines[0]}\n" + "".join([*lines[1 : line - 2], "secret\n", *lines[line - 2 :]]))
    place = rf"the record at line {line} of the file '{folder / 'a'}' does not decode"
    with pytest.raises(FatalError, match=f"{place}.*Nothing of its batch was applied") as raised:
        topology(spout_of(folder, format_)).run(spark, ledger=SqliteLedger(file), until="caught_up")
    assert "secret" not in str(raised.value)
    lenient = FileSpout(folder, SCHEMA, format=format_, on_bad_record="dead_letter", partitions=2)  # type: ignore[arg-type]
    assert run(spark, lenient, file) == rows
    with sqlite3.connect(file) as connection:
        letters = connection.execute("SELECT record_value FROM trident_dead_letter").fetchall()
    assert [bytes(value).strip() for (value,) in letters] == [b"secret"]


WRONG: dict[FileFormat, Callable[[Path], object]] = {
    FileFormat.JSON: lambda file: file.write_text('{"n":1}\n{"n":"one"}\n'),
    FileFormat.CSV: lambda file: file.write_text("word,n,sum\nw,1,1.00\n"),
    FileFormat.PARQUET: lambda file: parquet.write_table(pa.table({"word": ["a"], "n": [1]}), file),
}


@pytest.mark.parametrize("format_", list(FileFormat))
def test_a_wrong_file_is_corrected_in_its_place(spark: SparkSession, tmp_path: Path, format_: FileFormat) -> None:
    folder, file, rows = tmp_path / "in", tmp_path / "ledger.sqlite", rows_of(0, 30)
    write(folder, "a", rows[:10], format_)
    WRONG[format_](folder / ".b")
    (folder / ".b").rename(folder / "b")
    write(folder, "c", rows[10:20], format_)
    for _ in range(2):
        with pytest.raises(FatalError, match="put a corrected one in its place, under its name, and run the topology"):
            run(spark, spout_of(folder, format_, most=50), file)
    write(folder, "b", rows[20:], format_)
    assert run(spark, spout_of(folder, format_, most=50), file) == rows
    assert run(spark, spout_of(folder, format_, most=50), file) == rows


def test_parquet_files_that_do_not_fit_are_named(spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    spout = spout_of(folder, FileFormat.PARQUET)
    (folder / "a").write_text("no Parquet")
    with pytest.raises(FatalError, match=rf"'{folder / 'a'}' is no whole Parquet file.*nothing was planned"):
        topology(spout).run(spark, ledger=SqliteLedger(tmp_path / "1.sqlite"), until="caught_up")
    (folder / "a").unlink()
    cases: dict[str, dict[str, pa.Array[pa.Scalar[pa.DataType]]]] = {
        "'a' has 0 columns 'price'": {"word": pa.array(["a"]), "n": pa.array([1])},
        "'a' has the field 'n' as double, which is not read as int64": {
            "word": pa.array(["a"]),
            "n": pa.array([1.0]),
            "price": pa.nulls(1, pa.decimal128(9, 2)),
        },
        r"'a' has a value for the field 'price' in one of the rows 0 to 2 \(counted from 0\)": {
            "word": pa.array(["a", "b"]),
            "n": pa.array([1, 2]),
            "price": pa.array([None, Decimal("1.005")], pa.decimal128(9, 3)),
        },
    }
    for number, (text, columns) in enumerate(cases.items()):
        own = tmp_path / f"in{number}"
        own.mkdir()
        parquet.write_table(pa.table(columns), own / "a")
        with pytest.raises(FatalError, match=f"{text}.*Nothing of the batch was applied"):
            topology(spout_of(own, FileFormat.PARQUET)).run(
                spark, ledger=SqliteLedger(tmp_path / f"ledger{number}.sqlite"), until="caught_up"
            )


def test_what_a_folder_is_read_as_stays(spark: SparkSession, tmp_path: Path) -> None:
    folder, file = tmp_path / "in", tmp_path / "ledger.sqlite"
    write(folder, "a", rows_of(0, 3))
    run(spark, spout_of(folder), file)
    for other, error, text in (
        (spout_of(folder, partitions=3), FatalError, "partitions"),
        (FileSpout(folder, SCHEMA, format="json", partitions=2, files="*.json"), ConfigurationError, "catalogue"),
    ):
        with pytest.raises(error, match=text):
            topology(other).run(spark, ledger=SqliteLedger(file), until="caught_up")
    for each in (folder / "_trident").iterdir():
        each.unlink()
    text = r"partition 0 was read up to position \d+ by a catalogue of its folder's files that is not the one"
    with pytest.raises(FatalError, match=text):
        topology(spout_of(folder)).run(spark, ledger=SqliteLedger(file), until="caught_up")
    assert stored(file) == rows_of(0, 3)


def test_a_reset_that_clears_reads_what_is_still_there(spark: SparkSession, tmp_path: Path) -> None:
    folder, file, rows = tmp_path / "in", tmp_path / "ledger.sqlite", rows_of(0, 9)
    first = write(folder, "a", rows[:4])
    run(spark, spout_of(folder, partitions=1), file)
    write(folder, "b", rows[4:])
    run(spark, spout_of(folder, partitions=1), file)
    first.unlink()
    reset(topology(spout_of(folder, partitions=1)), SqliteLedger(file), states="clear")
    assert run(spark, spout_of(folder, partitions=1), file) == sorted([*rows, *rows[4:]], key=lambda row: row[1])


def test_two_topologies_read_one_folder(spark: SparkSession, tmp_path: Path) -> None:
    folder, rows = tmp_path / "in", rows_of(0, 20)
    write(folder, "a", rows[:9])
    assert run(spark, spout_of(folder), tmp_path / "1.sqlite") == rows[:9]
    write(folder, "b", rows[9:])
    assert run(spark, spout_of(folder, partitions=3), tmp_path / "2.sqlite") == rows
    assert run(spark, spout_of(folder), tmp_path / "1.sqlite") == rows


def test_a_folder_of_very_many_files_is_listed_quickly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once they have their numbers a look reads names and looks at some of the files only."""
    folder, count = tmp_path / "in", 20_000
    folder.mkdir()
    for number in range(count):
        (folder / f"{number:06d}").write_bytes(b"{}\n")
    source = FileSpout(folder, "n bigint", format="json", partitions=4).open("s")
    assert sum(each.stop for each in source.bounds()) == 3 * count
    time.sleep(0.1)
    asked: list[str] = []
    seen = Folder.seen

    def counted(looked_at: Folder, name: str) -> SeenFile | None:
        asked.append(name)
        return seen(looked_at, name)

    monkeypatch.setattr(Folder, "seen", counted)
    assert sum(each.stop for each in source.bounds()) == 3 * count
    asked.clear()
    time.sleep(0.1)
    assert sum(each.stop for each in source.bounds()) == 3 * count
    assert 0 < len(asked) <= 1_000


def test_a_file_is_read_whatever_bytes_its_name_is_of_and_named_in_a_text_that_can_be_recorded(
    spark: SparkSession, tmp_path: Path
) -> None:
    folder, file, rows = tmp_path / "in\udcff", tmp_path / "ledger.sqlite", rows_of(0, 10)
    first = write(folder, "a\udcff", rows)
    spout = spout_of(folder)
    assert run(spark, spout, file) == rows
    bad = write(folder, "b\udcff", [])
    bad.write_text("no record\n")
    with pytest.raises(FatalError, match=r"line 1 of the file '.*in\\udcff/b\\udcff' does not decode") as undecoded:
        topology(spout).run(spark, ledger=SqliteLedger(file), until="caught_up")
    _grown(first)
    with pytest.raises(FatalError, match=r"in\\udcff/a\\udcff' is not what it was") as changed:
        topology(spout).run(spark, ledger=SqliteLedger(file), until="caught_up")
    for raised in (undecoded, changed):
        str(raised.value).encode()
    with sqlite3.connect(file) as connection:
        for (text,) in connection.execute("SELECT reason FROM trident_refusal"):
            str(text).encode()
