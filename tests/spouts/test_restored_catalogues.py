"""A catalogue that was put back as it was before: nothing is numbered or read unless it proves to be the same."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from trident.base.errors import FatalError
from trident.base.ranges import OffsetRange, PartitionId
from trident.spouts import FileSpout
from trident.spouts.base import StartAt
from trident.spouts.files import folder as looking
from trident.spouts.files.source import FileSource

LOST = "was read up to position {}, and the catalogue in .* has other files there now, or none"


def put(folder: Path, name: str, size: int, second: int = 1_000) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_bytes(b"x" * (size - 1) + b"\n")
    os.utime(folder / name, (second, second))


def opened(folder: Path, partitions: int = 1) -> FileSource:
    return FileSpout(folder, "n bigint", format="json", partitions=partitions).open("s")


def read_all(folder: Path, partitions: int = 1) -> dict[PartitionId, OffsetRange]:
    """Return the ranges of a plan that reads all that there is."""
    source = opened(folder, partitions)
    return {
        bound.id: OffsetRange(bound.id, bound.topic_id, 0, bound.stop, source.proof(bound.id, bound.stop))
        for bound in source.bounds()
    }


def listed(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "_trident").iterdir())


def put_back(folder: Path) -> None:
    """Put the catalogue back as it was when only one file had a number."""
    for path in sorted((folder / "_trident").glob("0*"))[1:]:
        path.unlink()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder of which `m` has the number 0."""
    put(tmp_path / "in", "m", 100)
    opened(tmp_path / "in").bounds()
    return tmp_path / "in"


@pytest.mark.parametrize("came", [("a", 200), ("a", 300), ("z", 100), (None, 0)])
def test_other_files_get_no_number_that_was_read(folder: Path, came: tuple[str | None, int]) -> None:
    """Also one with the name or the length of what was read, or with neither name nor file."""
    put(folder, "z", 200)
    known = read_all(folder)
    put_back(folder)
    (folder / "z").unlink()
    if came[0] is not None:
        put(folder, came[0], came[1], 2_000)
    before = listed(folder)
    again = opened(folder)
    again.follow(known)
    for _ in range(2):
        with pytest.raises(FatalError, match=LOST.format(300)) as raised:
            again.bounds()
    assert "Put the catalogue back as it was" in str(raised.value)
    assert "--states clear" in str(raised.value)
    assert listed(folder) == before


def test_the_very_same_files_get_the_very_same_numbers(folder: Path) -> None:
    put(folder, "z", 200)
    known = read_all(folder)
    put_back(folder)
    again = opened(folder)
    again.follow(known)
    (bound,) = again.bounds()
    assert bound.stop == 300
    assert again.recognize(list(known.values())) == ()
    again.verify(list(known.values()))


@pytest.mark.parametrize("partitions", [2, 3])
def test_files_that_are_found_together_now_and_were_not_before_are_refused(folder: Path, partitions: int) -> None:
    for name in ("z", "y"):
        put(folder, name, 200)
        opened(folder).bounds()
    known = read_all(folder, partitions)
    put_back(folder)
    before = listed(folder)
    again = opened(folder, partitions)
    again.follow(known)
    with pytest.raises(FatalError, match="has other files there now, or none"):
        again.bounds()
    assert listed(folder) == before


def test_a_file_in_the_middle_is_noticed_although_the_last_one_is_the_same(folder: Path) -> None:
    for name in ("y", "z"):
        put(folder, name, 200)
    known = read_all(folder)
    put_back(folder)
    (folder / "y").unlink()
    put(folder, "a", 200)
    again = opened(folder)
    again.follow(known)
    with pytest.raises(FatalError, match=LOST.format(500)):
        again.bounds()


def test_what_another_topology_has_numbered_anew_is_refused(folder: Path) -> None:
    """The catalogue is as long as it was, or longer."""
    put(folder, "z", 200)
    known = read_all(folder)
    put_back(folder)
    put(folder, "a", 400)
    opened(folder).bounds()
    again = opened(folder)
    again.follow(known)
    with pytest.raises(FatalError, match=LOST.format(300)):
        again.bounds()
    other = opened(folder)
    other.bounds()
    with pytest.raises(FatalError, match="was planned to be read up to position 300"):
        other.recognize(list(known.values()))
    with pytest.raises(FatalError, match="the catalogue is not the one that partition 0 was planned by up to 300"):
        other.verify(list(known.values()))


def test_what_was_only_found_may_be_numbered_anew(folder: Path) -> None:
    """Up to the position that was read nothing has changed."""
    put(folder, "z", 200)
    known = read_all(folder)
    (id_,) = known
    source = opened(folder)
    source.bounds()
    at = {id_: replace(known[id_], stop=100, epoch=source.proof(id_, 100))}
    put_back(folder)
    put(folder, "a", 400)
    again = opened(folder)
    again.follow(at)
    assert [bound.stop for bound in again.bounds()] == [700]
    assert again.recognize(list(at.values())) == ()


def test_a_plan_of_an_earlier_version_proves_only_how_far_it_has_read(folder: Path) -> None:
    put(folder, "z", 200)
    known = {id_: replace(item, epoch=None) for id_, item in read_all(folder).items()}
    again = opened(folder)
    again.follow(known)
    assert [bound.stop for bound in again.bounds()] == [300]
    put_back(folder)
    shorter = opened(folder)
    shorter.follow(known)
    with pytest.raises(FatalError, match=LOST.format(300)):
        shorter.bounds()


@pytest.mark.parametrize("is_anew", [True, False])
def test_a_catalogue_that_is_put_back_while_it_is_read_gets_no_number_behind_a_gap(
    folder: Path, monkeypatch: pytest.MonkeyPatch, is_anew: bool
) -> None:
    monkeypatch.setattr(looking, "_LOOK_SECONDS", 0.0)
    put(folder, "z", 200)
    source = opened(folder)
    source.bounds()
    put_back(folder)
    if is_anew:
        shutil.rmtree(folder / "_trident")
        (folder / "z").rename(folder / ".z")
        opened(folder).bounds()
        (folder / ".z").rename(folder / "z")
        opened(folder).bounds()
    before = listed(folder)
    assert [bound.stop for bound in source.bounds()] == [300]
    put(folder, "a", 400)
    for _ in range(2):
        with pytest.raises(FatalError, match="was put back as it was before, or made anew, while it was read"):
            source.bounds()
    assert listed(folder) == before


def test_a_file_with_two_numbers_is_noticed(folder: Path) -> None:
    (segment,) = (folder / "_trident").glob("0*")
    shutil.copy(segment, folder / "_trident" / f"{1:020d}")
    with pytest.raises(FatalError, match="is not as it was written"):
        opened(folder).bounds()


def test_a_proof_stays_the_same_however_the_log_grows(folder: Path) -> None:
    source = opened(folder)
    (bound,) = source.bounds()
    assert source.proof(bound.id, 0) is None
    first = [source.proof(bound.id, position) for position in (1, 50, 100)]
    assert len(set(first)) == 1
    assert first[0] is not None
    assert 0 <= first[0] < 2**63
    put(folder, "z", 200)
    grown = opened(folder)
    grown.bounds()
    assert [grown.proof(bound.id, position) for position in (1, 50, 100)] == first
    assert grown.proof(bound.id, 101) not in {None, *first}
    assert grown.proof(bound.id, 301) is None
    shutil.rmtree(folder / "_trident")
    other = opened(folder)
    other.bounds()
    assert other.proof(bound.id, 100) == first[0]


def test_a_start_has_the_proof_of_what_it_leaves_out(folder: Path) -> None:
    source = opened(folder)
    (first,) = source.starts()
    assert (first.earliest, first.epoch) == (0, None)
    (latest,) = source.starts(StartAt.LATEST)
    assert (latest.earliest, latest.epoch) == (100, source.proof(latest.id, 100))
    put(folder, "z", 200)
    (folder / "m").unlink()
    (there,) = opened(folder).starts()
    assert (there.earliest, there.stop, there.epoch) == (100, 300, latest.epoch)
