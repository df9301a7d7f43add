"""What leads out where a file is wrong: corrected in its place it is read, once, as long as nothing of it counts."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import re
import shutil
import zipfile
from pathlib import Path

import pyarrow as pa
import pytest

from tests.cli.advised import commands_in
from tests.coordinators.test_run import OPTIONS
from tests.spouts.file_jobs import HEADER, FileJob, lines, put
from trident.base.crash_points import CrashPoint, armed
from trident.cli import app
from trident.coordinators.decided import DecisionKind
from trident.coordinators.decisions.commands import decide_topology
from trident.coordinators.decisions.wanted import WantedDecision
from trident.spouts.files import folder as looking
from trident.spouts.files.compressions import compression_of

CORRECT = "put a corrected one in its place, under its name, and run the topology again"


@pytest.fixture(autouse=True)
def _quick_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(looking, "_LOOK_SECONDS", 0.01)


class Died(BaseException):
    """The process is gone."""


def die(job: FileJob, point: CrashPoint, txid: int = 0) -> None:
    """Run until the process dies at a point."""

    def act(reached: CrashPoint, with_txid: int) -> None:
        if reached is point and with_txid >= txid:
            raise Died

    with armed(act), pytest.raises(Died):
        job.run()


WRONG = {
    "header": (lines("b", "b", header="account,sum\n"), r"first line of the file '.*b' does not hold"),
    "line": (f"{HEADER}b,1\nb,much\n", r"line 3 of the file '.*b' does not decode"),
    "quote": (f'{HEADER}b,1\n"b,1\n', r"line 3 of the file '.*b' does not decode"),
}


@pytest.mark.parametrize(("wrong", "most"), [("header", None), ("header", 30), ("line", None), ("quote", None)])
@pytest.mark.parametrize("partitions", [1, 2, 3])
def test_a_file_that_is_corrected_in_its_place_is_read_by_the_next_run(
    job: FileJob, wrong: str, partitions: int, most: int | None
) -> None:
    """Larger or smaller than it was, with files before and behind it; and again, where it is still wrong."""
    text, said = WRONG[wrong]
    job.partitions, job.most = partitions, most
    put(job.folder, "a", lines("a", "a"))
    put(job.folder, "c", lines("c", "c", "c"))
    for bad in (text, text + "b,7\n" * 9, text):
        put(job.folder, "b", bad)
        error = job.stops()
        assert re.search(said, error)
        assert CORRECT in error
        assert "b" not in job.sums()
    put(job.folder, "b", lines("b", "b", "b", "b", "b"))
    put(job.folder, "d", lines("d"))
    job.run()
    job.run()
    assert job.sums() == {"a": 2, "b": 5, "c": 3, "d": 1}


def test_a_wrong_header_is_no_dead_letter(job: FileJob) -> None:
    """Nobody knows what any line of such a file means."""
    job.on_bad_record = "dead_letter"
    put(job.folder, "a", lines("a", header="x,y\n"))
    assert "lacks account, amount" in job.stops()
    put(job.folder, "a", lines("a") + "wrong\n")
    job.run()
    assert job.sums() == {"a": 1}


def test_a_file_without_a_record_in_its_place_leaves_it_out(job: FileJob) -> None:
    """One that is empty may be about to be written, and is waited for."""
    for name in "abc":
        put(job.folder, name, lines(name, header="wrong\n"))
    put(job.folder, "d", lines("d"))
    job.stops()
    put(job.folder, "a", HEADER)
    put(job.folder, "b", "\n")
    put(job.folder, "c", "")
    error = job.stops()
    assert "c' is empty" in error
    assert "nothing more was read" in error
    put(job.folder, "c", "\r\n")
    job.run()
    assert job.sums() == {"d": 1}


def test_one_that_was_taken_away_may_be_put_back_as_another_one(job: FileJob) -> None:
    put(job.folder, "a", lines("a", header="wrong\n"))
    job.stops()
    (job.folder / "a").rename(job.home / "kept")
    assert CORRECT in job.stops()
    put(job.folder, "a", lines("a"))
    job.run()
    assert job.sums() == {"a": 1}


def test_what_was_replaced_is_told_in_the_log(job: FileJob, caplog: pytest.LogCaptureFixture) -> None:
    put(job.folder, "a", lines("a", header="wrong\n"))
    job.stops()
    put(job.folder, "a", lines("a"))
    job.run()
    (told,) = [record.getMessage() for record in caplog.records if record.name == "trident.files"]
    assert re.search(r"'.*/in/a' was replaced before anything of it was done. It had 10 bytes.*with 19 bytes", told)


@pytest.mark.parametrize("point", [CrashPoint.AFTER_PLAN, CrashPoint.AFTER_PROCESSING, CrashPoint.BEFORE_PIN])
def test_what_was_planned_and_never_decided_is_read_as_it_is_then(job: FileJob, point: CrashPoint) -> None:
    """Two times: what is planned then is known by what the catalogue was in between."""
    job.apart = True
    put(job.folder, "a", lines("a", "old"))
    put(job.folder, "b", lines("b", "old", "old"))
    die(job, point)
    put(job.folder, "a", lines("a", "in between", "in between"))
    die(job, point)
    put(job.folder, "b", lines("b"))
    die(job, point)
    put(job.folder, "a", lines("a", "new"))
    job.run()
    assert job.sums() == {"a": 1, "new": 1, "b": 1}


@pytest.mark.parametrize("point", [CrashPoint.AFTER_PIN, CrashPoint.IN_APPLY])
def test_what_is_pinned_counts_and_is_never_read_again(job: FileJob, point: CrashPoint) -> None:
    """Nothing is read again of a pinned batch, so nobody else would miss what its file was."""
    job.apart = True
    kept = put(job.folder, "a", lines("a", "old")).read_text()
    at = (job.folder / "a").stat().st_mtime_ns
    die(job, point)
    put(job.folder, "a", lines("a", "new"))
    error = job.stops()
    assert "What is done of it stays" in error
    assert "give what is new another name" in error
    assert job.sums() == {"a": 1, "old": 1}
    (job.folder / "a").rename(job.folder / "a2")
    put(job.folder, "a", kept)
    os.utime(job.folder / "a", ns=(at, at))
    job.run()
    assert job.sums() == {"a": 2, "old": 1, "new": 1}


@pytest.mark.parametrize("is_partly_read", [True, False])
def test_one_of_which_something_is_done_leads_to_a_reset_or_another_name(job: FileJob, is_partly_read: bool) -> None:
    put(job.folder, "a", lines("a"))
    put(job.folder, "b", lines("b", "b", "b", "b") + "wrong\n" * is_partly_read)
    job.most = 20
    if is_partly_read:
        job.stops()
    else:
        job.run()
    assert 0 < job.sums()["b"] <= 4
    put(job.folder, "b", lines("b", "corrected"))
    before, listed = job.sums(), names(job)
    error = job.stops()
    assert "b' is not what it was when it was found" in error
    assert "left out, or counted twice" in error
    assert (job.sums(), names(job)) == (before, listed)
    commands = commands_in(error)
    assert commands.keys() == {"clear"}
    job.carry_out(commands["clear"])
    job.run()
    assert job.sums() == {"a": 1, "b": 1, "corrected": 1}


def names(job: FileJob) -> list[str]:
    return sorted(path.name for path in (job.folder / "_trident").iterdir())


def test_while_it_runs_a_file_that_changes_stops_the_run_and_the_next_one_reads_it(job: FileJob) -> None:
    """A run does not know what becomes of what it has planned."""
    put(job.folder, "a", lines("a", "old"))

    def act(reached: CrashPoint, txid: int) -> None:
        if reached is CrashPoint.AFTER_PLAN:
            put(job.folder, "a", lines("a", "new"))

    with armed(act):
        error = job.stops()
    assert "Run the topology again: where nothing of it is done it is read as it is now" in error
    assert job.sums() == {}
    job.run()
    assert job.sums() == {"a": 1, "new": 1}


def test_two_topologies_of_which_one_has_read_it(tmp_path: Path) -> None:
    """That one stops: what the file held is counted there. A reset, as the text says it, counts what it holds now."""
    folder = tmp_path / "in"
    lenient = FileJob(tmp_path / "lenient", at=folder, on_bad_record="dead_letter")
    strict = FileJob(tmp_path / "strict", at=folder)
    put(folder, "a", lines("a"))
    put(folder, "b", lines("b") + "wrong\n")
    lenient.run()
    assert CORRECT in strict.stops()
    put(folder, "b", lines("b", "b"))
    strict.run()
    assert strict.sums() == {"a": 1, "b": 2}
    for _ in range(2):
        error = lenient.stops()
        assert "of what partition 0 was planned by up to position" in error
        assert "a file was replaced since" in error
        assert lenient.sums() == {"a": 1, "b": 1}
    lenient.carry_out(commands_in(error)["clear"])
    lenient.run()
    assert lenient.sums() == {"a": 1, "b": 2}
    put(folder, "c", lines("c"))
    strict.run()
    lenient.run()
    assert lenient.sums() == strict.sums() == {"a": 1, "b": 2, "c": 1}


@pytest.mark.parametrize("has_begun", [False, True])
def test_to_put_it_back_leads_on_as_long_as_no_other_topology_has_begun(tmp_path: Path, has_begun: bool) -> None:
    """As the text says: for that one nothing was done of it, so it has given what it found a number."""
    folder = tmp_path / "in"
    one, other = (FileJob(tmp_path / name, at=folder) for name in ("one", "other"))
    put(folder, "a", lines("a"), second=100)
    one.run()
    put(folder, "a", lines("a", "b"), second=200)
    error = one.stops()
    assert "as long as no other topology has begun to read the folder since" in error
    if has_begun:
        other.run()
    put(folder, "a", lines("a"), second=100)
    if not has_begun:
        one.run()
        assert one.sums() == {"a": 1}
        return
    one.carry_out(commands_in(one.stops())["clear"])
    one.run()
    assert one.sums() == {"a": 1}


def test_what_one_topology_has_planned_another_one_may_find_replaced(tmp_path: Path) -> None:
    """Nothing of it is decided anywhere: both read what is there now, whoever gave it its number."""
    folder = tmp_path / "in"
    one, other = (FileJob(tmp_path / name, at=folder, partitions=2) for name in ("one", "other"))
    for home in (one.home, other.home):
        home.mkdir()
    put(folder, "a", lines("a", "old"))
    put(folder, "b", lines("b"))
    die(one, CrashPoint.AFTER_PLAN)
    put(folder, "a", lines("a", "a"))
    other.run()
    one.run()
    assert one.sums() == other.sums() == {"a": 2, "b": 1}


def test_a_divert_is_void_once_the_file_of_its_rows_is_replaced(job: FileJob) -> None:
    """Nobody has looked at what is in it now."""
    put(job.folder, "a", lines("a"))
    job.run()
    job.refuse("b")
    put(job.folder, "b", lines("b", "c"))
    job.stops()
    job.stops()
    plan = job.plan()
    wanted = WantedDecision(DecisionKind.DIVERT, 2, "sums")
    decide_topology(plan.spec, plan.targets, job.ledger(), wanted, OPTIONS)
    put(job.folder, "b", lines("d"))
    job.run()
    assert job.sums() == {"a": 1, "d": 1}
    assert job.asked("SELECT * FROM trident_diverted") == []


def test_a_divert_holds_where_a_file_behind_its_rows_is_replaced(job: FileJob) -> None:
    put(job.folder, "a", lines("a"))
    job.run()
    job.refuse("b")
    put(job.folder, "b", lines("b", "c"))
    job.stops()
    put(job.folder, "e", lines("e", "old"))
    plan = job.plan()
    decide_topology(plan.spec, plan.targets, job.ledger(), WantedDecision(DecisionKind.DIVERT, 2, "sums"), OPTIONS)
    die(job, CrashPoint.AFTER_PLAN, 3)
    put(job.folder, "e", lines("e"))
    job.run()
    assert job.sums() == {"a": 1, "e": 1}
    assert len(job.asked("SELECT * FROM trident_diverted")) == 2


def test_a_lost_catalogue_is_named_and_not_made_anew(job: FileJob) -> None:
    for name in "ab":
        put(job.folder, name, lines(name))
    job.run()
    shutil.rmtree(job.folder / "_trident")
    put(job.folder, "c", lines("c"))
    for _ in range(2):
        error = job.stops()
        assert "read up to position 38 by a catalogue of its folder's files that is not the one in" in error
        assert "topic" not in error.replace("topology", "").replace("MODULE:TOPOLOGY", "")
        assert not (job.folder / "_trident").exists()
        assert job.sums() == {"a": 1, "b": 1}
    assert commands_in(error).keys() == {"clear", "moment"}


@pytest.mark.parametrize(
    ("way", "expected"), [("clear", {"a": 1, "b": 1, "c": 1}), ("moment", {"a": 1, "b": 1, "c": 1})]
)
def test_what_is_said_of_a_lost_catalogue_leads_out(job: FileJob, way: str, expected: dict[str, int]) -> None:
    """All is counted anew; or what was read is taken away, and all else is counted beside what is there."""
    for name in "ab":
        put(job.folder, name, lines(name))
    job.run()
    shutil.rmtree(job.folder / "_trident")
    other = FileJob(job.home / "other", at=job.folder)
    put(job.folder, "c", lines("c"))
    other.run()  # which makes a catalogue anew
    words = commands_in(job.stops())[way]
    if way == "moment":
        (job.folder / "a").unlink()
        (job.folder / "b").unlink()
    job.carry_out(words)
    job.run()
    assert job.sums() == expected


def test_dead_letters_say_file_and_line_in_the_ledger_and_in_the_log(
    job: FileJob, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    job.on_bad_record, job.partitions = "dead_letter", 2
    put(job.folder, "a", lines("a") + "wrong\n\nwrong\n" + "a,1\n")
    put(job.folder, "b", "account,amount\r\nwrong\r\n")
    put(job.folder, "c", lines("c") + "c,9,9\n")
    job.run()
    reasons = [reason for (reason,) in job.asked("SELECT reason FROM trident_dead_letter ORDER BY reason")]
    at = [(line, job.folder / name) for line, name in ((3, "a"), (3, "c"), (5, "a"), (2, "b"))]
    assert [reason.split(": ")[0] for reason in reasons] == sorted(
        f"line {line} of the file '{path}'" for line, path in at
    )
    (told,) = [record.getMessage() for record in caplog.records if "dead letters;" in record.getMessage()]
    assert "4 records of stream 's' did not decode and are kept as dead letters; the first at 19 of s/0: line 3" in told
    assert app.run(["show", "payments", "1", "--ledger", str(job.file)]) == 0
    assert f"line 5 of the file '{job.folder / 'a'}'" in capsys.readouterr().out


@pytest.mark.parametrize("packed", ["gzip", "bzip2", "bzip2 of nothing", "xz", "zip", "zip of nothing", "zstd"])
def test_a_compressed_file_is_refused_before_it_has_a_number(job: FileJob, packed: str) -> None:
    put(job.folder, "a", lines("a"))
    job.run()
    before = names(job)
    put(job.folder, "b", lines("b"))
    (job.folder / "c").write_bytes(PACKED[packed])
    for _ in range(2):
        error = job.stops()
        assert re.search(rf"c' is compressed: it begins as an? {packed.split()[0]} file does", error)
        assert "Take it away, and put what it was made of into the folder" in error
    assert names(job) == before
    put(job.folder, "c", lines("c"))
    job.run()
    assert job.sums() == {"a": 1, "b": 1, "c": 1}


@pytest.mark.parametrize("packed", ["gzip", "zip"])
def test_a_compressed_one_in_the_place_of_a_wrong_one_leads_to_its_place(job: FileJob, packed: str) -> None:
    """Beside it, under another name, it would be counted a second time once the wrong one is corrected."""
    put(job.folder, "b", f"{HEADER}wrong\n")
    assert CORRECT in job.stops()
    (job.folder / "b").write_bytes(PACKED[packed])
    error = job.stops()
    assert "Put what it was made of in its place, under its name" in error
    assert "Take it away" not in error
    put(job.folder, "b", lines("b"))
    job.run()
    assert job.sums() == {"b": 1}


@pytest.mark.parametrize("header", ["BZh,amount\n", "BZh9,amount\n", "PK,amount\n"])
def test_a_text_that_begins_like_one_is_none(header: str) -> None:
    assert compression_of(header.encode()) is None
    assert compression_of(b"") is None


def _zip(*files: str) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as packed:
        for name in files:
            packed.writestr(name, lines("b"))
    return made.getvalue()


PACKED = {
    "gzip": gzip.compress(lines("b").encode()),
    "bzip2": bz2.compress(lines("b").encode()),
    "bzip2 of nothing": bz2.compress(b""),
    "xz": lzma.compress(lines("b").encode()),
    "zip": _zip("b"),
    "zip of nothing": _zip(),
    "zstd": pa.compress(lines("b").encode(), codec="zstd", asbytes=True),
}
