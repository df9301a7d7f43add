"""Files that are replaced: which positions they leave, what proves them, and who may take them for new ones."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from tests.spouts.test_restored_catalogues import listed, opened, put, read_all
from trident.base.errors import FatalError, RetryableError
from trident.base.ranges import OffsetRange, PartitionId
from trident.spouts.base import StartAt
from trident.spouts.files import catalogue as keeping
from trident.spouts.files import folder as looking
from trident.spouts.files import places as keeping_places
from trident.spouts.files.catalogue import ListedFile
from trident.spouts.files.folder import Folder, SeenFile
from trident.spouts.files.places import FileLog, FileLogs
from trident.spouts.files.places import _chained as chained
from trident.spouts.files.source import FileSource

ID = PartitionId("s", 0)
Positions = dict[PartitionId, OffsetRange]


@pytest.fixture(autouse=True)
def _quick_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(looking, "_LOOK_SECONDS", 0.0)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with the files a, b and c, of 100 positions each."""
    for name in "abc":
        put(tmp_path / "in", name, 100)
    opened(tmp_path / "in").bounds()
    return tmp_path / "in"


def at(folder: Path, stop: int) -> Positions:
    """Return where a topology stands that has read so far, and nothing since."""
    source = opened(folder)
    (bound,) = source.bounds()
    return {ID: OffsetRange(ID, bound.topic_id, 0, stop, source.proof(ID, stop))}


def started(folder: Path, positions: Positions) -> FileSource:
    source = opened(folder)
    source.follow(positions)
    return source


def parts(source: FileSource, start: int, stop: int) -> list[tuple[str, int, int, int]]:
    return [
        (part.file.name, part.file.modified // 10**9, part.base + part.start, part.base + part.stop)
        for part in source._logs[0].slices(start, stop)
    ]


@pytest.mark.parametrize("size", [40, 100, 900])
@pytest.mark.parametrize("stop", [0, 50, 100])
def test_no_file_gets_other_positions(folder: Path, size: int, stop: int) -> None:
    positions = at(folder, stop)
    put(folder, "b", size, 2_000)
    source = started(folder, positions)
    (bound,) = source.bounds()
    assert bound.stop == 300 + size
    assert parts(source, 100, bound.stop) == [("c", 1_000, 200, 300), ("b", 2_000, 300, 300 + size)]
    assert source.recognize(list(positions.values())) == ()
    source.verify(list(positions.values()))
    again = started(folder, positions)
    assert again.bounds() == (bound,)
    assert parts(again, 0, bound.stop) == parts(source, 0, bound.stop)


@pytest.mark.parametrize("stop", [101, 150, 200, 300])
def test_one_of_which_something_is_done_is_refused(folder: Path, stop: int) -> None:
    positions, before = at(folder, stop), listed(folder)
    put(folder, "b", 100, 2_000)
    for _ in range(2):
        with pytest.raises(FatalError, match=r"b' is not what it was.*left out, or counted twice.*--states clear"):
            started(folder, positions).bounds()
    assert listed(folder) == before


def test_nobody_replaces_who_was_not_told_what_is_done(folder: Path) -> None:
    """Or who looks again: then positions are what was planned, and nobody knows what becomes of it."""
    positions, before = at(folder, 100), listed(folder)
    put(folder, "b", 90, 2_000)
    text = r"b' is not what it was.*Run the topology again"
    with pytest.raises(FatalError, match=text):
        opened(folder).bounds()
    put(folder, "b", 100)
    source = started(folder, positions)
    source.bounds()
    put(folder, "c", 90, 2_000)
    source.follow(positions)
    with pytest.raises(FatalError, match=r"c' is not what it was.*Run the topology again"):
        source.bounds()
    assert listed(folder) == before
    assert [bound.stop for bound in started(folder, positions).bounds()] == [390]


def test_a_first_look_that_failed_is_done_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    positions, seen = at(folder, 100), Folder.seen
    put(folder, "c", 90, 2_000)
    source = started(folder, positions)

    def away(looked_at: Folder, name: str) -> SeenFile | None:
        if name == "b":
            raise RetryableError("away")
        return seen(looked_at, name)

    monkeypatch.setattr(Folder, "seen", away)
    with pytest.raises(RetryableError, match="away"):
        source.bounds()
    monkeypatch.setattr(Folder, "seen", seen)
    source.follow(positions)
    assert [bound.stop for bound in source.bounds()] == [390]


def test_one_that_is_still_being_written_is_waited_for(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    positions, before = at(folder, 0), listed(folder)
    put(folder, "b", 50, 2_000)
    source = started(folder, positions)
    monkeypatch.setattr("time.sleep", lambda _: put(folder, "b", 60, 2_000))
    with pytest.raises(RetryableError, match="b' is being written in the place of another one; it got no number"):
        source.bounds()
    assert listed(folder) == before
    monkeypatch.setattr("time.sleep", lambda _: None)
    assert [bound.stop for bound in source.bounds()] == [360]


def test_what_was_planned_is_known_whatever_was_replaced_since_and_however_often(folder: Path) -> None:
    start, planned = at(folder, 100), []
    for turn in range(4):
        source = started(folder, start)
        (bound,) = source.bounds()
        planned.append(OffsetRange(ID, bound.topic_id, 100, 250, source.proof(ID, 250)))
        assert source.recognize([*start.values(), *planned]) == ()
        put(folder, "bcb"[turn % 3], 100 + turn, 2_000 + turn)
    assert len({item.epoch for item in planned}) == 3, "what is behind a position proves nothing of it"
    source = started(folder, start)
    source.bounds()
    other = replace(planned[0], epoch=12345)
    with pytest.raises(FatalError, match=r"was planned to be read up to position 250.*--states adopt"):
        source.recognize([other])
    with pytest.raises(FatalError, match="the catalogue is not the one that partition 0 was planned by up to 250"):
        source.verify(planned[:1])
    assert parts(source, 100, 250) == []


def test_what_was_read_before_it_was_replaced_is_told_from_a_catalogue_of_other_files(folder: Path) -> None:
    """A topology that had read it stops, with each look and at each start, whoever replaced it."""
    start, read = at(folder, 100), at(folder, 250)
    reading = started(folder, read)
    reading.bounds()
    put(folder, "b", 90, 2_000)
    started(folder, start).bounds()
    before = listed(folder)
    text = r"up to position 250 a file was replaced since.*--states clear"
    for source in (reading, started(folder, read)):
        for _ in range(2):
            with pytest.raises(FatalError, match=text):
                source.bounds()
    behind = started(folder, start)
    behind.bounds()
    behind.follow(read)
    with pytest.raises(FatalError, match=text):
        behind.recognize(list(read.values()))
    assert listed(folder) == before


def test_a_plan_without_a_proof_is_of_no_file_that_was_replaced(folder: Path) -> None:
    """An older version wrote it: before the file was replaced or after, nobody knows."""
    start, read = at(folder, 100), {ID: replace(at(folder, 250)[ID], epoch=None)}
    put(folder, "b", 90, 2_000)
    with pytest.raises(FatalError, match="b' is not what it was"):
        started(folder, read).bounds()
    started(folder, start).bounds()
    with pytest.raises(FatalError, match="has other files there now"):
        started(folder, read).bounds()
    before = {ID: replace(start[ID], epoch=None)}
    assert [bound.stop for bound in started(folder, before).bounds()] == [390]


def test_of_two_starts_that_find_it_in_two_forms_the_last_one_is_read(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one that comes second looks again; whoever stood still meanwhile takes nothing back."""
    start = at(folder, 100)
    put(folder, "b", 90, 2_000)
    first, second = started(folder, start), started(folder, start)
    width = second._format.width
    monkeypatch.setattr(Folder, "require_settled", lambda *_: None)  # as where another machine's view is old

    left = [first]

    def meanwhile(path: Path, seen: SeenFile, is_known: bool) -> int:
        found = width(path, seen, is_known=is_known)
        if left:
            left.pop().bounds()
            put(folder, "b", 80, 3_000)
        return found

    monkeypatch.setattr(
        type(second._format), "width", lambda _, path, seen, *, is_known: meanwhile(path, seen, is_known)
    )
    assert [bound.stop for bound in second.bounds()] == [300 + 90 + 80]
    assert parts(second, 100, 470) == [("c", 1_000, 200, 300), ("b", 3_000, 390, 470)]
    first.follow({ID: replace(start[ID], stop=350, epoch=first.proof(ID, 350))})
    with pytest.raises(FatalError, match="a file was replaced since"):
        first.bounds()


def test_whoever_dies_between_the_link_and_the_end_has_replaced_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = at(folder, 100)
    put(folder, "b", 90, 2_000)

    def die(path: Path) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(keeping, "_sync", die)
        with pytest.raises(KeyboardInterrupt):
            started(folder, start).bounds()
    source = started(folder, start)
    assert [bound.stop for bound in source.bounds()] == [390]
    assert parts(source, 100, 390) == [("c", 1_000, 200, 300), ("b", 2_000, 300, 390)]


def test_what_it_was_may_come_back(folder: Path) -> None:
    """It is another file then, behind all others, and read once."""
    start = at(folder, 100)
    put(folder, "b", 90, 2_000)
    started(folder, start).bounds()
    put(folder, "b", 100, 1_000)
    source = started(folder, start)
    assert [bound.stop for bound in source.bounds()] == [490]
    assert parts(source, 100, 490) == [("c", 1_000, 200, 300), ("b", 1_000, 390, 490)]


def test_one_that_is_away_and_comes_back_as_it_was_is_the_same_file(folder: Path) -> None:
    start, before = at(folder, 100), listed(folder)
    (folder / "b").rename(folder / ".b")
    with pytest.raises(FatalError, match="b' is gone before it was read to its end"):
        started(folder, start).bounds()
    (folder / ".b").rename(folder / "b")
    assert [bound.stop for bound in started(folder, start).bounds()] == [300]
    assert listed(folder) == before


def test_one_that_is_away_once_it_was_replaced_is_missed(folder: Path) -> None:
    start = at(folder, 100)
    put(folder, "b", 90, 2_000)
    started(folder, start).bounds()
    (folder / "b").unlink()
    with pytest.raises(FatalError, match="b' is gone before it was read to its end: it had 90 bytes"):
        started(folder, start).bounds()


def test_a_catalogue_from_before_it_was_replaced_gets_the_very_same_numbers_again(folder: Path) -> None:
    """Or none: what was read is proven with what was replaced."""
    start = at(folder, 100)
    shutil.copytree(folder, folder.with_name("backup"))
    put(folder, "b", 90, 2_000)
    started(folder, start).bounds()
    read = at(folder, 350)

    def restore() -> None:
        shutil.rmtree(folder / "_trident")
        shutil.copytree(folder.with_name("backup") / "_trident", folder / "_trident")

    restore()
    source = started(folder, read)
    assert [bound.stop for bound in source.bounds()] == [390]
    assert source.recognize(list(read.values())) == ()
    restore()
    before = listed(folder)
    put(folder, "b", 90, 3_000)
    with pytest.raises(FatalError, match="has other files there now, or none"):
        started(folder, read).bounds()
    assert listed(folder) == before


def test_a_folder_that_comes_back_whole_from_before_is_noticed(folder: Path) -> None:
    """What was read of the file that took the place is counted: what it was would be beside it."""
    start = at(folder, 100)
    shutil.copytree(folder, folder.with_name("backup"), copy_function=shutil.copy2)
    put(folder, "b", 90, 2_000)
    started(folder, start).bounds()
    read = at(folder, 390)
    shutil.rmtree(folder)
    folder.with_name("backup").rename(folder)
    with pytest.raises(FatalError, match=r"was read up to position 390, and the catalogue in .* has other files"):
        started(folder, read).bounds()


@pytest.mark.parametrize(("policy", "first"), [(StartAt.EARLIEST, 0), (StartAt.LATEST, 390)])
def test_who_begins_to_read_takes_it_as_it_is(folder: Path, policy: StartAt, first: int) -> None:
    put(folder, "b", 90, 2_000)
    source = opened(folder)
    (start,) = source.starts(policy)
    assert (start.earliest, start.stop) == (first, 390)
    source.follow({ID: OffsetRange(ID, start.topic_id, first, first, start.epoch)})
    assert [bound.stop for bound in source.bounds()] == [390]


def test_what_was_replaced_before_all_that_is_there_is_not_read_to_begin_with(folder: Path) -> None:
    put(folder, "a", 90, 2_000)
    (start,) = opened(folder).starts()
    assert (start.earliest, start.stop) == (100, 390)


@pytest.mark.parametrize("of_it", [0, 1, 40])
def test_what_a_log_was_is_found_in_one_go(of_it: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Replacements of other files cost nothing, and what is before the first of them is not hashed again."""
    logs = FileLogs([FileLog()])
    logs.deal(ListedFile(f"f{number}", 10, 1, 10) for number in range(200))
    log = logs[0]
    were = [log.proof(1_000)]
    for number in [*range(100, 200), *range(99, 99 - of_it, -1)]:
        logs.deal([ListedFile(f"f{number}", 10, 2, 10)])
        were.append(log.proof(1_000))
    hashed = list[str]()

    def counted(before: int, file: ListedFile, *, is_replaced: bool) -> int:
        hashed.append(file.name)
        return chained(before, file, is_replaced=is_replaced)

    monkeypatch.setattr(keeping_places, "_chained", counted)
    for was in were[:-1] if of_it else ():
        assert log.held_once(OffsetRange(ID, "", 0, 1_000, was))
    assert not log.held_once(OffsetRange(ID, "", 0, 990 - 10 * of_it, were[0]))
    hashed.clear()
    assert not log.held_once(OffsetRange(ID, "", 0, 1_000, 12345))
    assert len(hashed) == of_it * (of_it + 1) // 2


def test_each_log_is_proven_by_itself(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    for name in "abcd":
        put(folder, name, 100)
    known = {id_: replace(item, stop=0, epoch=None) for id_, item in read_all(folder, 2).items()}
    source = opened(folder, 2)
    source.bounds()
    ahead = PartitionId("s", 1)
    known[ahead] = replace(known[ahead], stop=200, epoch=source.proof(ahead, 200))
    put(folder, "a", 90, 2_000)
    again = opened(folder, 2)
    again.follow(known)
    assert [bound.stop for bound in again.bounds()] == [290, 200]
    put(folder, "b", 90, 2_000)
    last = opened(folder, 2)
    last.follow(known)
    with pytest.raises(FatalError, match="b' is not what it was"):
        last.bounds()


def test_a_name_has_two_numbers_only_for_two_files(folder: Path) -> None:
    put(folder, "b", 90, 2_000)
    started(folder, at_nothing(folder)).bounds()
    last = sorted((folder / "_trident").glob("0*"))[-1]
    shutil.copy(last, folder / "_trident" / f"{4:020d}")
    with pytest.raises(FatalError, match="is not as it was written"):
        opened(folder).bounds()


def at_nothing(folder: Path) -> Positions:
    head = (folder / "_trident" / "catalogue").read_text()
    return {ID: OffsetRange(ID, head.split('"id": "')[1].split('"')[0], 0, 0)}


def test_all_files_are_looked_at_by_who_may_replace(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Further looks take turns."""
    monkeypatch.setattr(looking, "_IN_TURNS", 1)
    start = at(folder, 0)
    for name in "abc":
        put(folder, name, 50, 2_000)
    source = started(folder, start)
    assert [bound.stop for bound in source.bounds()] == [450]
    os.utime(folder / "c", (3_000, 3_000))
    found = 0
    for _ in range(6):
        try:
            source.bounds()
        except FatalError:
            found += 1
    assert found == 1
