"""Mutants of what is wrong in a folder of files: replaced, compressed, lost, without a value."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_REPLACED = ("tests/spouts/test_replaced_files.py", "tests/spouts/test_folder_walks.py")
_CORRECTED = ("tests/spouts/test_corrected_files.py",)
_CUT = ("tests/spouts/test_cut_headers.py",)
_PLACES = ("tests/spouts/test_places_in_files.py",)
_NOT_NULL = ("integration_tests/spouts/test_not_null.py",)

WRONG_FILES = (
    Mutant(
        "a file of which something is done is never taken for a new one",
        "spouts/files/source.py",
        "if known is not None and begin < known.stop and ",
        "if known is not None and begin + 1 < known.stop and ",
        _REPLACED,
    ),
    Mutant(
        "no plan stops before the first record of a file",
        "spouts/files/source.py",
        "part.base + min(first + 1, part.file.width)",
        "part.base + min(first, part.file.width)",
        _CUT,
    ),
    Mutant(
        "what is planned again stops where it did",
        "coordinators/plans/maker.py",
        "item if item.spout in repeated else _moved",
        "item if item.spout not in self.sources else _moved",
        _CUT,
    ),
    Mutant(
        "the header that a plan must not cut is one of the file that was found",
        "spouts/files/source.py",
        "        with opened(self._folder.path, part) as file:\n",
        '        with (self._folder.path / part.file.name).open("rb") as file:\n',
        _CUT,
    ),
    Mutant(
        "the rows of a file are of the size and the time that it is listed with",
        "spouts/files/formats.py",
        "    if SeenFile.of(os.fstat(file.fileno())) != seen:\n",
        "    if seen is None:\n",
        _PLACES,
    ),
    Mutant(
        "lines are counted on in the same file only",
        "spouts/files/source.py",
        "since = counted if last == file else COUNTED_NOTHING\n",
        "since = counted\n",
        _PLACES,
    ),
    Mutant(
        "lines are not counted on from behind a position",
        "spouts/files/formats.py",
        "counted = since if positions[0] >= since.position else COUNTED_NOTHING\n",
        "counted = since\n",
        _PLACES,
    ),
    Mutant(
        "what was made into a compressed file goes under the name that has a number",
        "spouts/files/source.py",
        "        is_known = name in self._catalogue.latest\n",
        "        is_known = False\n",
        _CORRECTED,
    ),
    Mutant(
        "a Parquet row that Python does not hold is a dead letter like any other",
        "spouts/files/parquet_rows.py",
        "    unheld = (ValueError, OverflowError, pa.ArrowException)\n",
        "    unheld = (ValueError,)\n",
        ("tests/spouts/test_parquet_rows.py",),
    ),
    Mutant(
        "a file is replaced with the first look only",
        "spouts/files/source.py",
        "            self._may_replace = False\n        return tuple(",
        "        return tuple(",
        _REPLACED,
    ),
    Mutant(
        "a first look is one at all files",
        "spouts/files/source.py",
        "        is_whole = self._may_replace or not self._has_looked\n",
        "        is_whole = False\n",
        _REPLACED,
    ),
    Mutant(
        "a position says which files were replaced before it was read",
        "spouts/files/places.py",
        '*(["replaced"] if is_replaced else [])]',
        "]",
        _REPLACED,
    ),
    Mutant(
        "nothing is read of a file that was replaced",
        "spouts/files/places.py",
        "bool(self.files[number].width) and number not in self.replaced\n",
        "bool(self.files[number].width)\n",
        _REPLACED,
    ),
    Mutant(
        "what an older version has read is of no file that was replaced since",
        "spouts/files/places.py",
        "            return all(self.begin(number) >= known.stop for number in self.replaced)\n",
        "            return True\n",
        _REPLACED,
    ),
    Mutant(
        "what was planned before a file was replaced is known by what the catalogue was",
        "spouts/files/source.py",
        "(is_planned_only and log.held_once(item))",
        "is_planned_only",
        _REPLACED,
    ),
    Mutant(
        "what was read before a file was replaced stops",
        "spouts/files/source.py",
        "(is_planned_only and log.held_once(item))",
        "log.held_once(item)",
        _REPLACED,
    ),
    Mutant(
        "a range that is planned again is proven anew",
        "coordinators/plans/maker.py",
        "    if not isinstance(source, ProvesPositions):\n",
        "    if item.range.epoch is not None or not isinstance(source, ProvesPositions):\n",
        _CORRECTED,
    ),
    Mutant(
        "a file that is still being written is taken for none",
        "spouts/files/folder.py",
        "            if self.seen(file.name) != seen:\n",
        "            if seen is None:\n",
        _REPLACED,
    ),
    Mutant(
        "an empty file in the place of another one is waited for",
        "spouts/files/source.py",
        "            if not seen.size:\n",
        "            if seen is None:\n",
        _CORRECTED,
    ),
    Mutant(
        "no catalogue is made in the place of a lost one",
        "spouts/files/source.py",
        "        if known and not self._catalogue.is_there():\n",
        "        if not known and not self._catalogue.is_there():\n",
        _CORRECTED,
    ),
    Mutant(
        "another catalogue is not read on from",
        "spouts/files/source.py",
        "            if item.topic_id != self._catalogue.id:\n",
        "            if item.topic_id is None:\n",
        _CORRECTED,
    ),
    Mutant(
        "a compressed file has no lines",
        "spouts/files/formats.py",
        "        if kind is not None:\n",
        "        if kind == path:\n",
        _CORRECTED,
    ),
    Mutant(
        "a dead letter says where users find it",
        "coordinators/batches/runner.py",
        "        return tuple(self._with_places(letters))\n",
        "        return tuple(letters)\n",
        _CORRECTED,
    ),
    Mutant(
        "a CSV line without a value that may not be null is bad",
        "spouts/files/csv_lines.py",
        "            if texts[name].null_count:\n",
        "            if name not in texts:\n",
        ("tests/spouts/test_csv_lines.py",),
    ),
    Mutant(
        "a Parquet row without a value that may not be null is bad",
        "spouts/files/parquet_rows.py",
        "        if column.null_count:\n",
        "        if column is None:\n",
        ("tests/spouts/test_parquet_rows.py",),
    ),
    Mutant(
        "a JSON record without a value that may not be null is left to Spark",
        "spouts/decoders/fast_json.py",
        "    if field.is_required:\n",
        "    if field is None:\n",
        _NOT_NULL,
    ),
    Mutant(
        "a JSON decimal that may not be null is not null",
        "spouts/decoders/fast_json.py",
        "(fits if is_required else pc.or_(fits, null))",
        "pc.or_(fits, null)",
        _NOT_NULL,
    ),
    Mutant(
        "a JSON record without a value that may not be null is bad behind Spark",
        "spouts/decoders/json.py",
        "        for name in self.required:\n",
        "        for name in ():\n",
        _NOT_NULL,
    ),
    Mutant(
        "nobody takes values inside of a field for looked at",
        "spouts/decoders/declared.py",
        "    if inside:\n",
        "    if inside is None:\n",
        _NOT_NULL,
    ),
)
