"""Mutants of where batches come from: topics of a pattern, files of a folder."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_TOPICS = ("tests/spouts/test_topics.py",)
_PATTERNS = ("integration_tests/spouts/test_topic_patterns.py",)
_FILES = ("integration_tests/spouts/test_file_spout.py",)
_SCHEMAS = ("integration_tests/spouts/test_file_schemas.py",)
_LINES = ("tests/spouts/test_file_lines.py",)
_CSV = ("tests/spouts/test_csv_lines.py",)
_ROWS = ("tests/spouts/test_parquet_rows.py",)
_INSTANTS = ("tests/spouts/test_parquet_instants.py",)
_RESTORED = ("tests/spouts/test_restored_catalogues.py",)
_RESTORED_RUNS = ("integration_tests/spouts/test_restored_folders.py",)
_CATALOGUE = ("tests/spouts/test_catalogue.py",)
_RECEIVING = ("tests/spouts/test_receiving.py",)
_RECEIVED_PLANS = ("tests/coordinators/test_received_plans.py",)
_RECEIVING_RUNS = ("tests/coordinators/test_receiving.py", "tests/coordinators/test_receiving_decisions.py")

SOURCES = (
    Mutant(
        "a pattern means whole names",
        "spouts/kafka/topics.py",
        "re.fullmatch(self.text, topic)",
        "re.search(self.text, topic)",
        _TOPICS,
    ),
    Mutant(
        "a pattern never means Kafka's own topics",
        "spouts/kafka/topics.py",
        "not topic.startswith(_OF_KAFKA) and ",
        "",
        _TOPICS,
    ),
    Mutant(
        "a topic that was read is asked for whether the pattern finds it or not",
        "spouts/kafka/topics.py",
        "sorted(self._found | self.known)",
        "sorted(self._found)",
        _TOPICS,
    ),
    Mutant(
        "a start waits for a topic that is listed and not described",
        "spouts/kafka/source.py",
        "        if unsure:\n",
        "        if unsure is None:\n",
        ("tests/spouts/test_pattern_starts.py",),
    ),
    Mutant(
        "a topic of a pattern that is gone is missed",
        "coordinators/plans/maker.py",
        "    if isinstance(source, FollowsPositions):\n",
        "    if isinstance(source, FollowsPositions) and not positions:\n",
        _PATTERNS,
    ),
    Mutant(
        "a pattern that finds nothing is refused",
        "spouts/kafka/source.py",
        "        if not names:\n",
        "        if names is None:\n",
        _PATTERNS,
    ),
    Mutant(
        "no pattern reads a sink's markers",
        "trident/engine/places.py",
        "        _check_no_markers_read(compiled, place)\n",
        "",
        _PATTERNS,
    ),
    Mutant(
        "a line belongs to whoever reads its first byte",
        "spouts/files/lines.py",
        "if begins[row] < stop and _bare(line)]",
        "if begins[row] <= stop and _bare(line)]",
        _LINES,
    ),
    Mutant(
        "what a part begins in the middle of is another's",
        "spouts/files/lines.py",
        "    file.seek(max(part.start - 1, 0))\n",
        "    file.seek(part.start)\n",
        _LINES,
    ),
    Mutant(
        "a mark before a text is no part of its first line",
        "spouts/files/lines.py",
        "lines[0].removeprefix(_MARK)",
        "lines[0]",
        _LINES,
    ),
    Mutant(
        "the first line of a file begins at 0, before its mark",
        "spouts/files/lines.py",
        "        lines[0] = lines[0].removeprefix(_MARK)  #",
        "        lines[0], begins[0] = lines[0].removeprefix(_MARK), 3 * lines[0].startswith(_MARK)  #",
        _LINES,
    ),
    Mutant(
        "a number is given once, by whoever comes first",
        "spouts/files/catalogue.py",
        "            os.link(made, self.folder / name)\n",
        "            os.replace(made, self.folder / name)\n",
        _CATALOGUE,
    ),
    Mutant(
        "a file without anything in it has no number",
        "spouts/files/folder.py",
        " and seen.size]\n",
        "]\n",
        _CATALOGUE,
    ),
    Mutant(
        "what is said of a catalogue can be recorded, whatever its folder's name",
        "spouts/files/catalogue.py",
        'f"the catalogue in {str(folder)!r}"',
        'f"the catalogue in {folder}"',
        _CATALOGUE,
    ),
    Mutant(
        "no number is given behind a gap",
        "spouts/files/catalogue.py",
        " and (self._last is None or (self.folder / _name(self._last)).exists()):\n",
        ":\n",
        _RESTORED,
    ),
    Mutant(
        "no number is given in a catalogue that was made anew",
        "spouts/files/catalogue.py",
        "if self._head() == self.id and (",
        "if self.id and (",
        _RESTORED,
    ),
    Mutant(
        "no file has two numbers",
        "spouts/files/catalogue.py",
        "        if again or len(names) < len(files):\n",
        "        if len(names) < len(files):\n",
        _RESTORED,
    ),
    Mutant(
        "a part of the catalogue that was cut is noticed",
        "spouts/files/catalogue.py",
        "        if len(lines) != int(count):\n",
        "        if not count:\n",
        _CATALOGUE,
    ),
    Mutant(
        "nothing is said of half of a catalogue",
        "spouts/files/source.py",
        "            self._is_current = False  #",
        "            self._is_current = True  #",
        _CATALOGUE,
    ),
    Mutant(
        "a position is of the files that were read",
        "spouts/files/places.py",
        "        return known.epoch == self.proof(known.stop)\n",
        "        return True\n",
        _RESTORED,
    ),
    Mutant(
        "a proof is of all files before a position",
        "spouts/files/places.py",
        "_chained(self.proofs[-1] if self.proofs else 0, file, is_replaced=False)",
        "_chained(0, file, is_replaced=False)",
        _RESTORED,
    ),
    Mutant(
        "a proof is of what a file was",
        "spouts/files/places.py",
        "[before, file.name, file.size, file.modified, file.width, *",
        "[before, file.width, *",
        _RESTORED,
    ),
    Mutant(
        "no number is given before what was read is proven",
        "spouts/files/source.py",
        "        self._require_read(new)\n        if replaced:\n",
        "        if replaced:\n",
        _RESTORED,
    ),
    Mutant(
        "a short catalogue is never filled up unproven",
        "spouts/files/source.py",
        "            if item.epoch is None or not grown",
        "            if not grown",
        _RESTORED,
    ),
    Mutant(
        "a range of files has its proof in the ledger",
        "coordinators/plans/maker.py",
        "    if not isinstance(source, ProvesPositions):\n",
        "    if isinstance(source, ProvesPositions):\n",
        _RESTORED_RUNS,
    ),
    Mutant(
        "a planned batch is of the files that it was planned from",
        "spouts/files/source.py",
        "            if not log.holds(item) and not (",
        "            if log is None and not (",
        _RESTORED,
    ),
    Mutant(
        "a schema is parsed once",
        "spouts/files/source.py",
        "        if self._reader is None:\n",
        "        if self._reader is None or self._logs:\n",
        _SCHEMAS,
    ),
    Mutant(
        "quotes stand around whole values",
        "spouts/files/csv_lines.py",
        "        if not all(map(self._well_formed.fullmatch, lines)):\n",
        "        if not lines:\n",
        _CSV,
    ),
    Mutant(
        "a value is written as its type is",
        "spouts/files/csv_lines.py",
        'f"^({form})$"',
        'f"{form}|.?"',
        _CSV,
    ),
    Mutant(
        "a number that no float holds is none",
        "spouts/files/csv_lines.py",
        "        _require_near(texts, values, field.name)\n",
        "        pass\n",
        _CSV,
    ),
    Mutant(
        "a file is what it was when a task opens it",
        "spouts/files/task.py",
        "    if not part.file.is_same(seen):\n",
        "    if seen is None:\n",
        _FILES,
    ),
    Mutant(
        "a file that was read stays as it was",
        "spouts/files/source.py",
        "        self._require_undecided(replaced)\n",
        "        replaced = []\n",
        _FILES,
    ),
    Mutant(
        "a Parquet column is read as what it is",
        "spouts/files/parquet_rows.py",
        "        if not _fits(type_, field.type):\n",
        "        if type_ is None:\n",
        _FILES,
    ),
    Mutant(
        "a Parquet float is read as no narrower one",
        "spouts/files/parquet_rows.py",
        " and found.bit_width <= wanted.bit_width\n",
        "\n",
        _ROWS,
    ),
    Mutant(
        "INT96 is read in microseconds, which hold every year",
        "spouts/files/instants.py",
        'parquet.ParquetFile(file, coerce_int96_timestamp_unit="us")',
        'parquet.ParquetFile(file, coerce_int96_timestamp_unit="ns")',
        _INSTANTS,
    ),
    Mutant(
        "INT96 is an instant",
        "spouts/files/instants.py",
        "_INSTANT if next(marks) else type_",
        "type_ if next(marks) else type_",
        _INSTANTS,
    ),
    Mutant(
        "what was written by the Julian calendar is no other day",
        "spouts/files/instants.py",
        "            if self._is_of_old_calendar:\n",
        "            if self._is_of_old_calendar is None:\n",
        ("integration_tests/spouts/test_parquet_of_spark.py",),
    ),
    Mutant(
        "nothing below a microsecond is cut off",
        "spouts/files/instants.py",
        "if one.type != other.type and not _is_exact(one, other):",
        "if one.type == other.type and not _is_exact(one, other):",
        _INSTANTS,
    ),
    Mutant(
        "a number too small for a float is none",
        "spouts/files/csv_lines.py",
        "pc.or_(overflown, vanished)",
        "overflown",
        _CSV,
    ),
    Mutant(
        "a position that was planned for a received row never gets another one",
        "coordinators/plans/receiving.py",
        "    for txid in range(snapshot.done + 1, snapshot.last_txid + 1):\n",
        "    for txid in ():\n",
        _RECEIVING_RUNS,
    ),
    Mutant(
        "live attempts of a process that ended say what it had received",
        "coordinators/plans/receiving.py",
        "        source.begin(used_positions(name, plans, snapshot.starts or ()))\n",
        "        source.begin({})\n",
        _RECEIVING_RUNS,
    ),
    Mutant(
        "received rows of a refused batch are never taken for others",
        "coordinators/plans/ranges.py",
        "    if (view.is_received or view.is_named) and any(item.width for item in view.repeated or ()):\n",
        "    if view is None:\n",
        _RECEIVED_PLANS,
    ),
    Mutant(
        "what was received of a partition that no batch has finished is lost by number",
        "coordinators/plans/ranges.py",
        "    if view.has_moments or view.is_received:\n",
        "    if view.has_moments:\n",
        _RECEIVED_PLANS,
    ),
    Mutant(
        "nothing is received for a plan that is refused",
        "coordinators/plans/maker.py",
        "        ranges, losses = self._ranges(views, repeated)\n",
        "        ranges, losses = ((), ()) if self._receives else self._ranges(views, repeated)\n",
        _RECEIVED_PLANS,
    ),
    Mutant(
        "a stream that always fills a batch leaves no other one unasked",
        "coordinators/plans/maker.py",
        "            return self._build(replace(command, only_full=False), repeated) if unasked else built\n",
        "            return built\n",
        _RECEIVED_PLANS,
    ),
    Mutant(
        "a source that was not asked has not said that it has nothing",
        "coordinators/plans/maker.py",
        "            return PartFull() if unasked or self._is_awaited else None\n",
        "            return None\n",
        _RECEIVED_PLANS,
    ),
    Mutant(
        "the room of a batch is one for all partitions",
        "spouts/python/receiving.py",
        "            room -= self._take_in(number, held[number], room)\n",
        "            self._take_in(number, held[number], room)\n",
        _RECEIVING,
    ),
    Mutant(
        "rows are let go of when their spout has heard that they are done",
        "spouts/python/receiving.py",
        "                self._spout.done(number, rows)\n",
        "                held.let_go(len(rows))\n                rows = self._spout.done(number, rows) or ()\n",
        _RECEIVING,
    ),
    Mutant(
        "a txid of another process finishes no received row of this one",
        "spouts/python/received.py",
        "        self._done = max(self._done, stop)\n",
        "        self._done = stop\n",
        _RECEIVING,
    ),
    Mutant(
        "a byte order mark is taken off a file's first line alone",
        "spouts/files/csv_lines.py",
        "BOM_UTF8 + b",
        "b",
        _CSV,
    ),
    Mutant(
        "rows of words have no values, whatever is declared NOT NULL",
        "spouts/slices.py",
        "    own = [StructField(each.name, each.dataType) for each in fields.fields]\n",
        "    own = fields.fields\n",
        (
            "integration_tests/spouts/test_not_null.py::"
            "test_what_lies_in_the_coordinator_may_be_not_null_too_alone_and_merged[a queue-off]",
        ),
    ),
)
