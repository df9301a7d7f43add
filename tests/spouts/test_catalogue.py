"""Numbers of files: given once, by whoever comes first, and kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from trident.base.errors import ConfigurationError, FatalError, RetryableError
from trident.base.ranges import PartitionId
from trident.spouts import FileSpout
from trident.spouts.files.catalogue import Catalogue, ListedFile
from trident.spouts.files.folder import Folder, SeenFile

LINES = "lines in files that match '*'"


def opened(folder: Path, meaning: str = LINES) -> Catalogue:
    made = Catalogue(folder / "c", meaning)
    made.refresh()
    return made


def files(*names: str) -> list[ListedFile]:
    return [ListedFile(name, 5, 2**60 + 1, 5) for name in names]


def test_numbers_are_kept_and_found_again(tmp_path: Path) -> None:
    one = opened(tmp_path)
    assert one.add(files("b", "a"))
    assert one.add(files("ä\n", "\udcff"))
    again = opened(tmp_path)
    assert again.id == one.id
    assert again.files == one.files == files("b", "a", "ä\n", "\udcff")
    assert again.latest.keys() == {"b", "a", "ä\n", "\udcff"}
    assert not list((tmp_path / "c").glob(".*"))


def test_of_two_who_give_a_number_one_is_first(tmp_path: Path) -> None:
    """The other, a coordinator that was replaced and does not know it, takes what it finds."""
    one, other = opened(tmp_path), opened(tmp_path)
    assert one.add(files("a"))
    assert not other.add(files("b"))
    assert other.files == []
    other.refresh()
    assert other.files == files("a")
    assert other.add(files("b"))
    one.refresh()
    assert one.files == files("a", "b")


def test_numbers_of_other_files_are_not_taken(tmp_path: Path) -> None:
    opened(tmp_path)
    with pytest.raises(ConfigurationError, match=r"lines in files that match '\*', and not of rows.*Nothing was read"):
        opened(tmp_path, "rows in files that match '*'")


def test_a_catalogue_that_is_cut_or_gone_is_noticed(tmp_path: Path) -> None:
    one = opened(tmp_path)
    one.add(files("a", "b"))
    (segment,) = (tmp_path / "c").glob("0*")
    text = segment.read_text()
    for cut in (text[: text.rindex("[")], text[:-3], ""):
        segment.write_text(cut)
        with pytest.raises(FatalError, match="is not as it was written"):
            opened(tmp_path)
    for each in (tmp_path / "c").iterdir():
        each.unlink()
    (tmp_path / "c").rmdir()
    with pytest.raises(FatalError, match=r"can't be read or written \(ENOENT\)"):
        one.add(files("c"))


NOT_UTF_8 = "in\udcff"


def test_what_is_said_of_a_folder_can_be_recorded_whatever_its_name(tmp_path: Path) -> None:
    """A database takes no text with half of a character in it, which is what other bytes become in Python."""
    folder = tmp_path / NOT_UTF_8
    one = opened(folder)
    one.add(files("a"))
    said = [_refused(folder, "rows", ConfigurationError)]
    head, segment = folder / "c" / "catalogue", next((folder / "c").glob("0*"))
    text = head.read_text()
    head.write_text(text.replace('"version": 1', '"version": 0'))
    said.append(_refused(folder, LINES, ConfigurationError))
    head.write_text(text)
    segment.write_text("2\n")
    said.append(_refused(folder, LINES, FatalError))
    (folder / "c").rename(folder / "d")
    (folder / "c").touch()
    said.append(_refused(folder, LINES, FatalError))
    for each in said:
        assert "in\\udcff" in each
        each.encode()


def _refused(folder: Path, meaning: str, error: type[Exception]) -> str:
    with pytest.raises(error, match="the catalogue in") as raised:
        opened(folder, meaning)
    return str(raised.value)


def test_a_file_without_anything_in_it_has_no_number_yet(tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    spout = FileSpout(tmp_path, "n bigint", format="json")
    assert [each.stop for each in spout.open("s").bounds()] == [0]
    (tmp_path / "b").write_bytes(b"{}\n")
    (tmp_path / "a").write_bytes(b"{ }\n")
    source = spout.open("s")
    assert [each.stop for each in source.bounds()] == [7]
    assert source.places_of(PartitionId("s", 0), [0]) == [f"line 1 of the file '{tmp_path / 'a'}'"]


def test_what_could_not_be_looked_at_is_looked_at_again_before_anything_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half of a catalogue would look like logs that were cut."""
    (tmp_path / "a").write_bytes(b"{}\n")
    spout = FileSpout(tmp_path, "n bigint", format="json")
    assert [each.stop for each in spout.open("s").bounds()] == [3]
    again, seen = spout.open("s"), Folder.seen

    def away(folder: Folder, name: str) -> SeenFile | None:
        raise RetryableError("away")

    monkeypatch.setattr(Folder, "seen", away)
    for _ in range(2):
        with pytest.raises(RetryableError, match="away"):
            again.bounds()
    monkeypatch.setattr(Folder, "seen", seen)
    assert [each.stop for each in again.bounds()] == [3]
