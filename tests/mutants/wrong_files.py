"""Mutants of what is wrong in a folder of files: replaced, compressed, lost, without a value."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_REPLACED = ("tests/spouts/test_replaced_files.py", "tests/spouts/test_folder_walks.py")
_CORRECTED = ("tests/spouts/test_corrected_files.py",)
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
