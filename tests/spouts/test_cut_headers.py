"""A limit that falls into a header: of a file there is something done from its first record on, and not before."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.spouts.file_jobs import HEADER, FileJob, lines, put
from tests.spouts.test_corrected_files import die
from trident.base.crash_points import CrashPoint
from trident.base.errors import FatalError
from trident.base.ranges import OffsetRange, PartitionId
from trident.spouts import FileSpout
from trident.spouts.files import folder as looking
from trident.spouts.files.source import FileSource

ID = PartitionId("s", 0)


@pytest.fixture(autouse=True)
def _quick_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(looking, "_LOOK_SECONDS", 0.0)


def opened(folder: Path, *, header: bool = True) -> FileSource:
    return FileSpout(folder, "account string, amount bigint", format="csv", header=header).open("s")


@pytest.mark.parametrize(
    ("partitions", "before", "limits"),
    [(1, True, range(1, 45)), (1, False, range(1, 26, 3)), (2, True, range(2, 45, 5))],
    ids=["behind another file", "first", "in two logs"],
)
def test_wherever_a_limit_cuts_a_file_without_a_record_that_counts_is_corrected(
    tmp_path: Path, partitions: int, before: bool, limits: range
) -> None:
    for most in limits:
        job = FileJob(tmp_path / str(most), most=most, partitions=partitions)
        job.home.mkdir()
        if before:
            put(job.folder, "a", lines("a"))
        put(job.folder, "b", f"{HEADER}b,much\nb,1\n")
        assert "line 2 of the file" in job.stops()
        assert "b" not in job.sums()
        put(job.folder, "b", lines("b", "b"))
        job.run()
        assert job.sums() == {"b": 2, **({"a": 1} if before else {})}


def test_no_plan_stops_before_a_first_record(tmp_path: Path) -> None:
    """It has a byte of that, or the whole of a file that is no more than a header."""
    folder = tmp_path / "in"
    put(folder, "a", lines("a"))
    put(folder, "b", HEADER)
    put(folder, "c", "\ufeff" + HEADER.replace("\n", "\r\n") + "c,1\r\n")
    source = opened(folder)
    source.bounds()
    wanted = [0, *[16] * 16, 17, 18, 19, *[34] * 15, *[34 + 20] * 20, *range(34 + 21, 34 + 25)]
    assert [source.moved(ID, stop) for stop in range(34 + 25)] == wanted
    bare = opened(folder, header=False)
    bare.bounds()
    assert [bare.moved(ID, stop) for stop in range(34 + 25)] == list(range(34 + 25))


def test_lines_without_anything_are_no_records(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    put(folder, "a", HEADER + "\n\r\na,1\n")
    put(folder, "b", HEADER + "\n")
    source = opened(folder)
    source.bounds()
    assert [source.moved(ID, stop) for stop in (1, 15, 17, 18, 19, 20, 22, 23, 38)] == [*[19] * 5, 20, 22, 38, 38]


def test_a_file_without_a_header_may_begin_with_lines_that_are_no_records(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    put(folder, "a", "\n\r\na,1\n")
    put(folder, "b", "\ufeff\n\n")
    put(folder, "c", "\ufeffc,1\n")
    source = opened(folder, header=False)
    source.bounds()
    assert [source.moved(ID, stop) for stop in range(14)] == [0, 4, 4, 4, 4, 5, 6, 7, *[12] * 5, 13]


def test_one_that_begins_with_an_empty_line_is_corrected_as_any_other(tmp_path: Path) -> None:
    """A limit fell behind the empty line: nothing of the file counts, so nothing of it is done."""
    folder = tmp_path / "in"
    put(folder, "a", "a,1\n")
    put(folder, "b", "\nb,much\n")
    before = opened(folder, header=False)
    (bound,) = before.bounds()
    stop = before.moved(ID, 5)
    read = OffsetRange(ID, bound.topic_id, 0, 4, before.proof(ID, 4))
    assert stop == 6
    assert [part.file.name for part in before._logs[0].slices(read.stop, stop)] == ["b"]
    put(folder, "b", "b,1\n")
    after = opened(folder, header=False)
    after.follow({ID: read})
    assert after.bounds()[0].stop == 4 + 8 + 4


def test_a_header_that_was_replaced_is_not_looked_at(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    for name in "ab":
        put(folder, name, lines(name))
    source = opened(folder)
    source.starts()
    put(folder, "b", lines("b", "b"))
    again = opened(folder)
    again.starts()
    assert [again.moved(ID, stop) for stop in (20, 25, 38, 39)] == [20, 25, 38, 38 + 16]


def test_a_file_that_changed_before_its_header_was_looked_at_plans_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    put(folder, "a", lines("a"))
    source = opened(folder)
    source.bounds()
    put(folder, "a", lines("a", "a"))
    with pytest.raises(FatalError, match=r"a' is not what it was.*Run the topology again"):
        source.moved(ID, 3)
    (folder / "a").unlink()
    with pytest.raises(FatalError, match="a' is gone before it was read"):
        source.moved(ID, 3)


def test_what_was_planned_stays_as_it_was_planned(job: FileJob, monkeypatch: pytest.MonkeyPatch) -> None:
    """By an older version a plan may stop in a header: the attempt that follows has the very same ranges."""
    job.most = 20
    put(job.folder, "a", lines("a"))
    put(job.folder, "b", lines("b"))
    stops: list[int] = []
    job.meddle = lambda request: stops.extend(edge.range.stop for edge in request.edges["s"])
    with monkeypatch.context() as patched:
        patched.setattr(FileSource, "moved", lambda _source, _id, stop: stop)
        die(job, CrashPoint.AFTER_PROCESSING)
    assert stops[0] == 20
    stops.clear()
    job.run()
    assert stops[0] == 20
    assert job.sums() == {"a": 1, "b": 1}
