"""The mutants of sinks: what keeps a txid from leaving twice, by half, or not at all."""

from __future__ import annotations

from typing import Final

from tests.mutants.mutant import Layer, Mutant

_SINK: Final = ("tests/state/test_kafka_sink.py",)
_RECORDS: Final = ("tests/state/test_kafka_records.py",)
_MARKERS: Final = ("integration_tests/sinks/test_markers.py",)
_BAD: Final = "integration_tests/sinks/test_bad_input.py"
_TO: Final = "integration_tests/sinks/test_to_kafka.py"
_ENDS: Final = ("integration_tests/sinks/test_lost_ends.py",)
_TO_KAFKA: Final = ("integration_tests/dsl/test_dsl_to_kafka.py",)
_OPEN: Final = "        with closing(self._begin(id_, limits)) as session:\n"
_MATRIX: Final = (
    "integration_tests/crash_matrix/test_sinks.py::test_every_record_leaves_once_wherever_a_coordinator_dies"
)
_OUTBOX_LIVES: Final = ("tests/coordinators/test_outbox_lives.py",)
_BEGIN: Final = (
    "        with self.outbox.work_for(owner.topology, epoch) as transaction:\n"
    "            owned_in(self.outbox, transaction, owner, epoch)\n"
    "            self.outbox.trim(transaction, owner.topology, birth_txid)\n"
    "            self.outbox.bear(transaction, owner, epoch, birth_txid)\n"
)
_FIND: Final = "            here = session.cluster_id()\n            marker, partition = self._find(topology, here)\n"

_OUTBOX = ("tests/state/test_outbox.py",)
_LIVES = ("tests/coordinators/test_outbox_lives.py",)
_ROWS = ("tests/state/test_row_sinks.py",)
_POSTGRES_ROWS = ("integration_tests/sinks/test_row_sinks.py",)

_BULK: Final = ("tests/state/test_bulk_rows.py",)

SINKS: Final = (
    Mutant(
        "a producer that has sent its share does not send it again",
        "state/kafka/bulk/sending.py",
        "        if is_sent(mine, batch, self.place.sink):\n",
        "        if False and is_sent(mine, batch, self.place.sink):\n",
        _BULK,
    ),
    Mutant(
        "a topic that is not there stops the start",
        "trident/engine/running.py",
        "        check=partial(check_places, compiled, options.timeouts),\n",
        "",
        (f"{_TO}::test_a_topic_that_is_missing_stops_the_start_before_anything_is_read",),
    ),
    Mutant(
        "tasks of a target that take too long are cancelled",
        "trident/engine/tasks.py",
        '            after_error("cancelling tasks that take too long", cancel)\n',
        "",
        ("tests/dsl/test_engine_pure.py::test_tasks_that_take_too_long_are_cancelled_until_they_end_and_that_is_said",),
    ),
    Mutant(
        "a transaction may take as long as a batch",
        "state/kafka/bulk/reach.py",
        ", self.timeouts.lease, self.limit)",
        ", self.timeouts.lease)",
        (f"{_BAD}::test_a_transaction_may_take_as_long_as_a_batch",),
    ),
    Mutant(
        "a newer epoch stops the tasks of an older one",
        "state/kafka/bulk/sending.py",
        "        self._change_all(owner.topology, fencing(owner, epoch, self._place.sink))\n",
        "",
        _BULK,
    ),
    Mutant(
        "a txid that some producers have sent is not undone",
        "state/kafka/undoing.py",
        "if not is_there and (count := self.sender.sent_of(batch)):",
        "if not is_there and (count := 0):",
        _BULK,
    ),
    Mutant(
        "the sink's own marker moves when every share is in",
        "state/kafka/bulk/sending.py",
        "        self._send(batch, writes)\n",
        "",
        _BULK,
    ),
    Mutant(
        "staged files are looked at before they are sent",
        "state/kafka/bulk/writing.py",
        "    if digest_of(write.write_id, rows.num_rows) != write.digest:\n",
        "    if rows.num_rows > write.rows:\n",
        _BULK,
    ),
    Mutant(
        "a byte of a staged file that has changed is noticed",
        "state/kafka/bulk/folder.py",
        "                page_checksum_verification=True,\n",
        "",
        _BULK,
    ),
    Mutant(
        "a share of other records under the same numbers is not taken for this one",
        "state/kafka/bulk/sending.py",
        "            if mine.sent != sent:",
        "            if False and mine.sent != sent:",
        _BULK,
    ),
    Mutant(
        "a producer without a marker stops the start",
        "state/kafka/bulk/sending.py",
        "            if position is None:\n                raise",
        "            if position is None:\n                continue\n                raise",
        _BULK,
    ),
    Mutant(
        "a producer that is ahead of its sink stops the start",
        "state/kafka/bulk/sending.py",
        "            if position.owner != owner or position.txid > newest:\n",
        "            if position.owner != owner:\n",
        _BULK,
    ),
    Mutant(
        "files of two incarnations lie apart",
        "state/kafka/bulk/folder.py",
        "(owner.topology, self.sink, owner.incarnation)",
        "(owner.topology, self.sink)",
        _BULK,
    ),
    Mutant(
        "files of attempts that have ended are deleted",
        "state/kafka/bulk/writing.py",
        "            self.folder.forget_attempts_before(batch)\n",
        "            pass\n",
        _BULK,
    ),
    Mutant(
        "a producer that is ahead of what is pinned stops the start",
        "state/kafka/target.py",
        "self._sender.check_producers(owner, max(position.txid, pinned or 0))",
        "self._sender.check_producers(owner, position.txid + 1)",
        _BULK,
    ),
    Mutant(
        "a record for a topic that can't be is refused before the pin",
        "state/kafka/checking.py",
        "        if not is_topic_name(str(topic)):\n",
        "        if False:\n",
        _RECORDS,
    ),
    Mutant(
        "what was sent in part does not keep a reset that is recorded from its end",
        "state/kafka/outbox/keeping.py",
        "            except (MismatchError, RefusedError) as error:\n",
        "            except MismatchError as error:\n",
        _BULK,
    ),
    Mutant(
        "a version that is said again with the next one ends",
        "state/row_tables/statements.py",
        'f"WHERE a.{_KIND} <> {_FRESH} AND a.trident_next_kind',
        'f"WHERE a.{_KIND} = {_KEPT} AND a.trident_next_kind',
        ("tests/state/test_row_sinks.py",),
    ),
    Mutant(
        "a version is compared with the one before it by bytes",
        "state/row_tables/statements.py",
        'equal = f"{of.told_apart[name].format(now)} = {of.told_apart[name].format(then)}"',
        'equal = f"{now} = {then}"',
        ("tests/state/test_row_sinks.py",),
    ),
    Mutant(
        "a record that the client will not take once it is compressed is refused before it is pinned",
        "state/kafka/checking.py",
        "    most = max(limit, COMPRESSIBLE) if is_compressed else limit\n",
        "    most = 1 << 62 if is_compressed else limit\n",
        _RECORDS,
    ),
    Mutant(
        "what the client compresses it takes before that",
        "state/kafka/clients/producing.py",
        "        largest = max(largest, COMPRESSIBLE)\n",
        "            pass\n",
        ("integration_tests/sinks/test_bad_input.py",),
    ),
    Mutant(
        "a record that its client's queue has no room for ends the wait for room",
        "state/kafka/clients/producing.py",
        "                if was_empty:\n",
        "                if False:\n",
        ("integration_tests/sinks/test_bad_input.py",),
    ),
    Mutant(
        "all records of a key have one producer",
        "state/kafka/bulk/writing.py",
        "            shares[number] = zlib.crc32(key, seed) % producers\n",
        "            shares[number] = number % producers\n",
        _BULK,
    ),
    Mutant(
        "files that were not sent are kept",
        "state/kafka/target.py",
        "            txid = min(done, position.txid)\n",
        "            txid = done\n",
        _BULK,
    ),
    Mutant(
        "what waits as files that are sent in part is not taken out",
        "state/kafka/outbox/relaying.py",
        "        self._require_unsent(batch)\n",
        "",
        _BULK,
    ),
    Mutant(
        "nothing of a txid is sent by producers of which others lack their files",
        "state/kafka/bulk/sending.py",
        "            if not self.sent_of(batch):\n                raise\n",
        "            pass\n",
        _BULK,
    ),
    Mutant(
        "what tasks have staged and the driver does not see is not pinned",
        "coordinators/batches/staging.py",
        "        writing.check_written(batch, staged.writes)\n",
        "        pass\n",
        ("tests/coordinators/test_bulk_lives.py",),
    ),
    Mutant(
        "rows that are gone are given up by name only",
        "state/kafka/bulk/sending.py",
        "suppress(*[StagingLostError] if without_lost else [])",
        "suppress(StagingLostError)",
        (*_BULK, "tests/coordinators/test_bulk_lives.py"),
    ),
    Mutant(
        "what tasks have left open hides no marker",
        "state/kafka/bulk/sending.py",
        "        self.settle_all(owner.topology)\n        self._change_all(owner.topology, fencing(",
        "        self._change_all(owner.topology, fencing(",
        _BULK,
    ),
    Mutant(
        "no two transactions of a sink share a producer epoch",
        "state/kafka/clients/producing.py",
        "        try:\n            producer = Producer(configuration)\n",
        "        try:\n"
        "            kept = self.__dict__.get(transactional_id)\n"
        "            if kept is not None:\n"
        "                return ConfluentSession(self._sink, kept, self._seconds, 60.0)\n"
        "            producer = Producer(configuration)\n"
        "            self.__dict__[transactional_id] = producer\n",
        _ENDS,
    ),
    Mutant(
        "a marker is read after the session has begun",
        "state/kafka/markers.py",
        f"{_OPEN}            reached(CrashPoint.AFTER_SESSION, txid)\n{_FIND}",
        "        marker, partition = self._find(topology, self._cluster.id())\n"
        f"{_OPEN}            reached(CrashPoint.AFTER_SESSION, txid)\n"
        "            here = session.cluster_id()\n",
        _SINK,
    ),
    Mutant(
        "a take-over does not wait for a transaction that its predecessor left open",
        "state/kafka/sender.py",
        "        found = self.markers.look(topology, *settling)\n",
        "        found = self.markers.read(topology)\n",
        _OUTBOX_LIVES,
    ),
    Mutant(
        "a look begins no session where nothing is open",
        "state/kafka/markers.py",
        "            marker, _ = self._find(topology, self._cluster.id(), briefly=True)\n",
        '            raise StillOpenError("")\n',
        _SINK,
    ),
    Mutant(
        "what a process that died left open is ended by a session of its successor",
        "state/kafka/markers.py",
        "        return self._producers.open(id_, {**limits, **of_topic})\n",
        "        return self._producers.open(f\"{id_}.{__import__('os').getpid()}\", {**limits, **of_topic})\n",
        (f"{_MATRIX}[kafka-take-over]",),
        Layer.MATRIX,
    ),
    Mutant(
        "a reset moves the marker of an outbox before its row",
        "state/kafka/outbox/keeping.py",
        f"        self.marker.adopt(owner, epoch, birth_txid)\n{_BEGIN}",
        f"{_BEGIN}        self.marker.adopt(owner, epoch, birth_txid)\n",
        (f"{_MATRIX}[outbox-reset]",),
        Layer.MATRIX,
    ),
    Mutant(
        "a newer epoch's marker stops an old owner",
        "state/kafka/markers.py",
        "    check_epoch(found.epoch, epoch, name)\n    return found\n",
        "    return found\n",
        _SINK,
    ),
    Mutant(
        "an old epoch raises no fence of a sink",
        "state/kafka/moves.py",
        "        check_epoch(found.epoch if found else None, epoch, name)\n",
        "",
        _SINK,
    ),
    Mutant(
        "what is in Kafka is not sent again",
        "state/kafka/target.py",
        "            if is_in(mine.position, batch, self.name):\n                return None\n",
        "            is_in(mine.position, batch, self.name)\n",
        _SINK,
    ),
    Mutant(
        "who was replaced hears so, though its rows are cleaned up by now",
        "state/kafka/target.py",
        "is_in(owned(found, batch.epoch, self.name).position, batch, self.name)",
        "is_in(found.position, batch, self.name)",
        _SINK,
    ),
    Mutant(
        "a marker of another cluster is none of this sink's",
        "state/kafka/markers.py",
        "        if marker.cluster != here:\n",
        "        if False:\n",
        _SINK,
    ),
    Mutant(
        "a marker topic that forgets is refused",
        "state/kafka/markers.py",
        "        if settings is not None and settings.cleanup != _COMPACTED:\n",
        "        if False:\n",
        _SINK,
    ),
    Mutant(
        "what is open below the end of the log is waited for",
        "state/kafka/clients/python_cluster.py",
        "IsolationLevel.READ_UNCOMMITTED, int(",
        "IsolationLevel.READ_COMMITTED, int(",
        _MARKERS,
    ),
    Mutant(
        "what was aborted is no marker",
        "state/kafka/clients/python_cluster.py",
        'isolation_level="read_committed"',
        'isolation_level="read_uncommitted"',
        _MARKERS,
    ),
    Mutant(
        "markers are looked for in every partition",
        "state/kafka/clients/python_cluster.py",
        "for partition in sorted(range(settings.partitions), key=lambda number: number != own):",
        "for partition in (own,):",
        _MARKERS,
    ),
    Mutant(
        "markers are looked for up to the log's beginning",
        "state/kafka/clients/python_cluster.py",
        "            width, stop = width * 4, start\n",
        "            return _Looked(end, None)\n",
        _MARKERS,
    ),
    Mutant(
        "what a sink has not sent is not cleaned up",
        "state/kafka/target.py",
        "up_to(txid, lying)",
        "up_to(done, lying)",
        _SINK,
    ),
    Mutant(
        "a topic of another sink's markers is no topic of records",
        "trident/engine/places.py",
        "            return self.cluster == other.cluster\n",
        "            return self.sink.bootstrap_servers == other.sink.bootstrap_servers\n",
        ("tests/dsl/test_places.py::test_another_sinks_markers_are_no_topic_of_records",),
    ),
    Mutant(
        "what a sink has sent is not undone",
        "state/kafka/undoing.py",
        "        if is_there and found.sent.count:\n",
        "        if False:\n",
        _SINK,
    ),
    Mutant(
        "a reset of a sink is carried out once",
        "state/kafka/moves.py",
        "        if mine.position is not None and mine.position.owner == owner:\n            return None\n",
        "",
        _SINK,
    ),
    Mutant(
        "rows leave in the order of their records",
        "state/kafka/records.py",
        '    return rows.sort_by([(ORDER, "ascending")])\n',
        "    return rows\n",
        _RECORDS,
    ),
    Mutant(
        "no two sinks share a transactional id",
        "state/kafka/marker.py",
        '.replace(".", "%2E")',
        "",
        _RECORDS,
    ),
    Mutant(
        "a record that no broker takes is refused before it is pinned",
        "state/kafka/checking.py",
        "    if largest + _OVERHEAD > most:\n",
        "    if False:\n",
        _RECORDS,
    ),
    Mutant(
        "the headers that say where a record came from count when its size is looked at",
        "state/kafka/checking.py",
        "    if lineage is not None:\n",
        "    if False:\n",
        _RECORDS,
    ),
    Mutant(
        "a record without a key for a compacted topic is refused before it is pinned",
        "state/kafka/checking.py",
        "    if len(without):\n",
        "    if False:\n",
        _RECORDS,
    ),
    Mutant(
        "what the client raises while it is only listened to is told like any other end",
        "state/kafka/clients/producing.py",
        "            self._producer.poll(seconds)\n        except KafkaException as error:\n",
        "            self._producer.poll(seconds)\n        except BufferError as error:\n",
        ("integration_tests/sinks/test_bad_input.py",),
    ),
    Mutant(
        "a header of this library's is nobody else's",
        "state/kafka/checking.py",
        "    if pc.any(pc.starts_with(names, LINEAGE)).as_py():\n",
        "    if False:\n",
        _RECORDS,
    ),
    Mutant(
        "rows that one record became keep their order",
        "trident/operations/columns.py",
        "        rows = rows.withColumn(ORDER, F.concat(order(), level))\n",
        "        pass\n",
        _TO_KAFKA,
    ),
    Mutant(
        "a function's filter takes the order along",
        "trident/operations/arrow.py",
        "        hidden = {name: array.filter(mask) for name, array in records.hidden.items()}\n",
        "        hidden = {name: array[: kept.num_rows] for name, array in records.hidden.items()}\n",
        _TO_KAFKA,
    ),
    Mutant(
        "a batch is never earlier than the one before it",
        "coordinators/plans/maker.py",
        "now = self.clock.now() if before is None else max(self.clock.now(), before.batch_time)",
        "now = self.clock.now()",
        ("tests/coordinators/test_batch_time.py",),
    ),
    Mutant(
        "no txid is used again that an outbox has sent",
        "coordinators/decisions/deciding.py",
        "_birth_txid(taking.snapshot, positions), _newest_sent(taking))",
        "_birth_txid(taking.snapshot, positions))",
        _LIVES,
    ),
    Mutant(
        "an outbox that was put back knows by its marker what it has sent",
        "state/kafka/outbox/keeping.py",
        "max(row.position.txid, sent or 0)",
        "row.position.txid",
        _LIVES,
    ),
    Mutant(
        "what waits follows on what was sent",
        "state/kafka/outbox/relaying.py",
        "        if left and left[0].before_txid != position.txid:\n",
        "        if False:\n",
        _OUTBOX,
    ),
    Mutant(
        "an outbox is held against its marker at each start",
        "state/kafka/outbox/keeping.py",
        " or not sent <= position.txid <= row.newest_txid:\n",
        ":\n",
        _OUTBOX,
    ),
    Mutant(
        "what the marker has passed is not sent again",
        "state/kafka/outbox/relaying.py",
        "zip(entries, rows, strict=True) if entry.txid > position.txid]",
        "zip(entries, rows, strict=True)]",
        _OUTBOX,
    ),
    Mutant(
        "what was sent is trimmed by whoever holds the epoch",
        "state/kafka/outbox/relaying.py",
        "            self.outbox.trim(transaction, owner.topology, sent)\n",
        "",
        _OUTBOX,
    ),
    Mutant(
        "only what is done is sent",
        "state/kafka/outbox/stored.py",
        "self._of(ENTRIES, topology, ENTRIES.c.txid <= done)\n        size = ",
        "self._of(ENTRIES, topology)\n        size = ",
        _OUTBOX,
    ),
    Mutant(
        "a backlog holds back the next pin",
        "coordinators/batches/backlogs.py",
        "return any(done - sent > MOST_BEHIND for _, sent in self.sent)",
        "return False",
        ("tests/coordinators/test_backlogs.py",),
    ),
    Mutant(
        "of several rows of a key the last one wins",
        "state/row_tables/statements.py",
        'direction = "ASC" if self.shape.write is RowWrite.INSERT_IF_ABSENT else "DESC"',
        'direction = "ASC"',
        _ROWS,
    ),
    Mutant(
        "rows of one key need an order",
        "state/row_tables/place.py",
        "        if unordered is not None and connection.execute(text(unordered)).first():\n",
        "        if False:\n",
        _ROWS,
    ),
    Mutant(
        "what a table's trigger has left out is noticed",
        "state/row_tables/place.py",
        "        if left:\n",
        "        if False:\n",
        _ROWS,
    ),
    Mutant(
        "a key that is null is refused",
        "state/rows.py",
        "    if cast.null_count and not field.nullable:\n",
        "    if False:\n",
        _ROWS,
    ),
    Mutant(
        "no version becomes valid for longer than it was",
        "state/row_tables/statements.py",
        'f"AND (t.{ends} IS NULL OR t.{ends} > a.trident_next)"',
        'f"AND TRUE"',
        _ROWS,
    ),
    Mutant(
        "old versions end before new ones begin",
        "state/row_tables/statements.py",
        "return (_end_versions(self), _begin_versions(self))",
        "return (_begin_versions(self), _end_versions(self))",
        _ROWS,
    ),
    Mutant(
        "a table that is missing is not made anew where a sink has written to it",
        "state/row_tables/place.py",
        "        if not self.was_missing or not self.applied.holders(connection):\n",
        "        if True:\n",
        _ROWS,
    ),
    Mutant(
        "staged values that nobody would read stop the start",
        "state/tables/tables.py",
        "    if problem or surplus:\n",
        "    if problem:\n",
        _POSTGRES_ROWS,
    ),
    Mutant(
        "a table is looked at with each batch",
        "state/row_tables/place.py",
        "        if row is not None and self.is_another(connection, row):\n",
        "        if False:\n",
        _POSTGRES_ROWS,
    ),
    Mutant(
        "what a column would cut is refused",
        "state/row_tables/place.py",
        '            if connection.execute(text(longer), {"most": most}).first():\n',
        "            if False:\n",
        _POSTGRES_ROWS,
    ),
    Mutant(
        "bad input of a sink: a right that is missing is told, and not that other records were given up with it",
        "state/kafka/clients/producing.py",
        "        if error is None or error.code() in GIVEN_UP:\n",
        "        if error is None:\n",
        (f"{_BAD}::test_a_user_without_rights_is_told_each_of_them",),
    ),
    Mutant(
        "bad input of a sink: why a transaction has failed is told where more of it is sent",
        "state/kafka/clients/producing.py",
        "                if error.args[0].code() in (KafkaError._STATE, KafkaError._FATAL):\n",
        "                if False:\n",
        (f"{_BAD}::test_a_user_without_rights_is_told_each_of_them",),
    ),
    Mutant(
        "bad input of a sink: a topic that is gone is told before the call gives up",
        "state/kafka/clients/producing.py",
        "str(max(1, int(self._seconds * 500))),\n",
        '"30000",\n',
        (f"{_BAD}::test_a_topic_that_is_deleted_once_its_records_are_staged",),
    ),
    Mutant(
        "bad input of a sink: a marker topic that was cut is looked through anew",
        "state/kafka/clients/errors.py",
        "    if isinstance(error, python_errors.OffsetOutOfRangeError):\n",
        "    if False:\n",
        (f"{_BAD}::test_a_marker_topic_that_was_truncated",),
    ),
    Mutant(
        "bad input of a sink: settings that are not told are no settings",
        "state/kafka/clients/python_cluster.py",
        "            if not by_topic.get(name):",
        "            if name not in by_topic:",
        ("tests/state/test_hidden_settings.py",),
    ),
    Mutant(
        "old files that can't be deleted end no run",
        "state/kafka/bulk/tidying.py",
        "        except _UNTIDY as error:\n",
        "        except ValueError as error:\n",
        _BULK,
    ),
    Mutant(
        "folders of sent txids go, though their files went before",
        "state/kafka/bulk/folder.py",
        " for place in staged} | (set(places) - staged):\n",
        " for place in staged}:\n",
        _BULK,
    ),
)
