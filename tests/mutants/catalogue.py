"""Every mutant, by the part of the product whose guard it removes."""

from __future__ import annotations

from tests.mutants.mutant import Layer, Mutant

_STATES = ("tests/state/test_contract.py",)
_LEDGERS = ("tests/ledger/test_memory_ledger.py", "tests/ledger/test_sqlite_ledger.py", "tests/ledger/test_rules.py")
_PROTOCOL = ("tests/coordinators/test_protocol.py",)
_RUN = ("tests/coordinators/test_run.py",)
_MATRIX = ("integration_tests/crash_matrix/test_crash_matrix.py",)
_CHAOS = ("integration_tests/test_chaos.py",)
_POSTGRES_STATE = ("integration_tests/state/test_postgres_state.py",)
_POSTGRES_LEDGER = ("integration_tests/ledger/test_postgres_ledger.py",)

_VALUES = (
    Mutant(
        "a transactional value takes a txid once",
        "state/values.py",
        "        if self.txid == txid:\n            return self\n",
        "",
        ("tests/state/test_values.py",),
    ),
    Mutant(
        "an opaque value that comes again starts from the previous one",
        "state/values.py",
        "before = self.previous if self.txid == txid else self.current",
        "before = self.current",
        ("tests/state/test_values.py",),
    ),
)
_STATE = (
    Mutant(
        "txid compare-and-set of SQL states",
        "state/tables/meta.py",
        "AND incarnation = :incarnation AND txid = :txid - 1",
        "AND incarnation = :incarnation",
        _STATES,
    ),
    Mutant(
        "txid comparison of states without SQL",
        "state/positions.py",
        "position.txid == batch.txid - 1",
        "position.txid <= batch.txid",
        _STATES,
    ),
    Mutant(
        "attempt comparison of an applied txid",
        "state/positions.py",
        "(position.owner, position.txid, position.attempt) == (batch.owner, batch.txid, batch.attempt)",
        "(position.owner, position.txid) == (batch.owner, batch.txid)",
        _STATES,
    ),
    Mutant(
        "incarnation of a SQL state",
        "state/tables/meta.py",
        "AND state = :state AND incarnation = :incarnation AND txid",
        "AND state = :state AND txid",
        _STATES,
    ),
    Mutant(
        "epoch check in the state's database",
        "state/tables/meta.py",
        "if row is not None and (row[0], row[1]) == (epoch.number, epoch.token):",
        "if row is not None:",
        _STATES,
    ),
    Mutant(
        "epoch check of states without SQL",
        "state/positions.py",
        "if stored is not None and stored != given and stored.number >= given.number:",
        "if False:",
        _STATES,
    ),
    Mutant(
        "FOR SHARE on the fence row of the state's database",
        "state/postgres/dialect.py",
        'for_share = " FOR SHARE"',
        'for_share = ""',
        _POSTGRES_STATE,
    ),
    Mutant(
        "row lock of a position that is read",
        "state/postgres/dialect.py",
        'for_update = " FOR UPDATE"',
        'for_update = ""',
        _POSTGRES_STATE,
    ),
    Mutant(
        "manifest acceptance: only accepted writes are read",
        "state/tables/staging.py",
        "{WRITE_ID} IN :writes",
        "({WRITE_ID} IN :writes OR true)",
        _STATES,
    ),
    Mutant(
        "digest of staged rows",
        "state/tables/staging.py",
        "if found == manifest.digest:",
        "if found.count == manifest.digest.count:",
        _STATES,
    ),
    Mutant(
        "row count of a manifest",
        "state/tables/staging.py",
        "if found == manifest.digest:",
        "if found.count <= manifest.digest.count:",
        _STATES,
    ),
    Mutant(
        "row count of a merge",
        "state/tables/target.py",
        "if changed != expected:",
        "if False:",
        _STATES,
    ),
    Mutant(
        "staging is durable before the pin",
        "state/tables/target.py",
        "        if not place.apart:\n            return HeldUpdates(rows)",
        "        if True:\n            return HeldUpdates(rows)",
        _RUN,
    ),
    Mutant(
        "staging apart from the ledger is logged",
        "state/postgres/dialect.py",
        'kind = "TABLE" if durable else "UNLOGGED TABLE"',
        'kind = "UNLOGGED TABLE"',
        _POSTGRES_STATE,
    ),
    Mutant(
        "a new SQLite file that another is making is waited for",
        "state/sqlite/database.py",
        "retry=retry_if_exception(is_busy)",
        "retry=retry_if_exception(lambda _: False)",
        ("tests/state/test_databases.py",),
    ),
    Mutant(
        "BEGIN IMMEDIATE",
        "state/sqlite/database.py",
        'connection.exec_driver_sql("BEGIN IMMEDIATE")',
        'connection.exec_driver_sql("BEGIN")',
        ("tests/state/test_databases.py",),
    ),
    Mutant(
        "a lost answer to COMMIT is no failure",
        "state/databases/transactions.py",
        "if is_lost(driver_error(error)):",
        "if False:",
        _POSTGRES_STATE,
    ),
    Mutant(
        "conditional put of a per-key store",
        "state/maps/place.py",
        "if isinstance(self.backing_map, ConditionalBackingMap):",
        "if False:",
        ("tests/state/test_backing_map.py",),
    ),
    Mutant(
        "the position of a per-key store comes after its chunks",
        "state/maps/target.py",
        "        keyed = keyed_rows(self._place.layout, self._place.rows_of(batch, updates))\n",
        "        keyed = keyed_rows(self._place.layout, self._place.rows_of(batch, updates))\n"
        "        early = Position(batch.owner, batch.txid, batch.attempt, position.birth_txid)\n"
        "        self._place.put_reserved(found, reserved_value(early, batch.epoch))\n"
        "        found = self._place.owned(batch.owner, batch.epoch)\n",
        ("tests/state/test_backing_map.py",),
    ),
)
_VERSIONS = (
    Mutant(
        "tables of a newer version are refused",
        "state/databases/versions.py",
        "if found > len(self.steps):",
        "if False:",
        ("tests/state/test_versions.py",),
    ),
    Mutant(
        "tables that are there without a version are the first version",
        "state/databases/versions.py",
        " if not found.has_table(name)]",
        "]",
        ("tests/state/test_versions.py",),
    ),
    Mutant(
        "tables are made under the database's lock",
        "state/databases/versions.py",
        "        terms.lock(connection)\n",
        "",
        ("tests/state/test_third_database.py",),
    ),
)
_LEDGER = (
    Mutant(
        "a write on a locked row asserts that it touched it",
        "coordinators/ledger/sql/asserted.py",
        "if count != 1:",
        "if False:",
        ("tests/ledger/test_sqlite_ledger.py",),
    ),
    Mutant(
        "epoch check in the ledger",
        "coordinators/ledger/rules/fencing.py",
        "if stored != epoch:",
        "if False:",
        _LEDGERS,
    ),
    Mutant(
        "the epoch's token counts like its number",
        "coordinators/ledger/rules/fencing.py",
        "if stored != epoch:",
        "if stored is None or stored.number != epoch.number:",
        _LEDGERS,
    ),
    Mutant(
        "FOR SHARE on the ledger's fence row",
        "coordinators/ledger/sql/reads.py",
        '    .suffix_with("FOR SHARE OF trident_fence", dialect="postgresql")\n',
        "",
        _POSTGRES_LEDGER,
    ),
    Mutant(
        "row lock of the progress row",
        "coordinators/ledger/sql/reads.py",
        "    .with_for_update(of=PROGRESS)\n",
        "",
        _POSTGRES_LEDGER,
    ),
    Mutant(
        "a fresh lease is not taken over",
        "coordinators/ledger/sql/epochs.py",
        "if before is not None and _holds(presence, topology, before):",
        "if False:",
        _LEDGERS,
    ),
    Mutant(
        "plan chaining: a range starts where the one before stopped",
        "coordinators/ledger/rules/following.py",
        "if range_.start != reached:",
        "if False:",
        _LEDGERS,
    ),
    Mutant(
        "no partition is absent from a plan",
        "coordinators/ledger/rules/following.py",
        "if missing:",
        "if False:",
        _LEDGERS,
    ),
    Mutant(
        "a plan keeps to the topic's id",
        "coordinators/ledger/rules/following.py",
        "if range_.topic_id != topic_id:",
        "if False:",
        _LEDGERS,
    ),
    Mutant(
        "a message that the plan before has is not planned again",
        "coordinators/ledger/rules/following.py",
        " or known.get(item.spout, frozenset()) & set(item.ids):",
        ":",
        _LEDGERS,
    ),
    Mutant(
        "attempt numbers are never reused",
        "coordinators/ledger/rules/attempts.py",
        "if plan.attempt <= progress.last_attempt:",
        "if False:",
        _LEDGERS,
    ),
    Mutant(
        "what an older epoch left unpinned is not adopted",
        "coordinators/ledger/rules/attempts.py",
        "return decided or before.epoch == epoch.number",
        "return True",
        _LEDGERS,
    ),
    Mutant(
        "a pinned txid is not dropped",
        "coordinators/ledger/rules/attempts.py",
        "if progress.pinned is not None and drop_from <= progress.pinned:",
        "if False:",
        _LEDGERS,
    ),
    Mutant(
        "a pin needs the live attempt",
        "coordinators/ledger/rules/commits.py",
        "if stored is None or stored.status is not PlanStatus.LIVE or stored.incarnation != progress.incarnation:",
        "if stored is None:",
        _LEDGERS,
    ),
    Mutant(
        "order of commits in the ledger: a pin needs the txid before to be done",
        "coordinators/ledger/rules/commits.py",
        "if progress.done != pin.txid - 1:",
        "if False:",
        _LEDGERS,
    ),
    Mutant(
        "done needs the pin of the same attempt",
        "coordinators/ledger/rules/commits.py",
        "if (progress.pinned, progress.pinned_attempt) != (commit.txid, commit.attempt):",
        "if False:",
        _LEDGERS,
    ),
    Mutant(
        "a repeated commit looks again under the locks",
        "coordinators/ledger/sql/ledger.py",
        "                # The lost call may have ended while the applies waited for its locks.\n"
        "                _refuse_done(progress, owner, commit)\n",
        "",
        _POSTGRES_LEDGER,
    ),
)
_COORDINATOR = (
    Mutant(
        "attempt comparison of words that come back",
        "coordinators/protocol/step.py",
        "(item for item in state.live if item.batch == event.batch)",
        "(item for item in state.live if item.batch.txid == event.batch.txid)",
        _PROTOCOL,
    ),
    Mutant(
        "done only after every state",
        "coordinators/protocol/step.py",
        "    waiting = item.waiting - {event.state}\n    if waiting:",
        "    waiting = item.waiting - {event.state}\n    if False:",
        _PROTOCOL,
    ),
    Mutant(
        "order of commits in the protocol",
        "coordinators/protocol/step.py",
        "    item = state.live[0]._replace(status=move(Status.READY, Word.TURN))",
        "    item = state.live[-1]._replace(status=move(Status.READY, Word.TURN))",
        _PROTOCOL,
    ),
    Mutant(
        "order of the take-over: what is open is read after every fence",
        "coordinators/holding/takeover.py",
        "        owner = self._registered().owner\n",
        "        self._read = self._registered()\n        owner = self._read.owner\n        self.read = lambda: None\n",
        ("tests/coordinators/test_takeover.py",),
    ),
    Mutant(
        "a take-over raises the fence of every state",
        "coordinators/holding/takeover.py",
        "            self._raise_fence(store, owner)\n",
        "",
        ("tests/coordinators/test_takeover.py",),
    ),
    Mutant(
        "a state must stand where the ledger says",
        "coordinators/holding/standing.py",
        "if position.txid != snapshot.done or not (born_here or position.attempt == snapshot.done_attempt):",
        "if False:",
        _RUN,
    ),
    Mutant(
        "a partition that a metadata answer leaves out keeps its position",
        "coordinators/plans/ranges.py",
        "for id_ in sorted({*view.positions, *bounds}):",
        "for id_ in sorted(bounds):",
        ("tests/coordinators/test_plan_ranges.py",),
    ),
    Mutant(
        "topic id: a topic created anew stops",
        "coordinators/plans/ranges.py",
        "if known is not None and known.topic_id != bound.topic_id:",
        "if False:",
        ("tests/coordinators/test_plan_ranges.py",),
    ),
    Mutant(
        "a transactional spout never skips",
        "coordinators/plans/ranges.py",
        "if view.kind is SpoutKind.TRANSACTIONAL or view.on_lost is LostOffsets.STOP:",
        "if view.on_lost is LostOffsets.STOP:",
        ("tests/coordinators/test_plan_ranges.py",),
    ),
    Mutant(
        "end-of-range check",
        "coordinators/batches/completeness.py",
        "if manifest.position is not None and manifest.position < edge.range.stop:",
        "if False:",
        ("tests/coordinators/test_completeness.py",),
    ),
    Mutant(
        "what is read twice in an attempt must agree",
        "trident/engine/collecting.py",
        "if Counter(collected.read) != expected:",
        "if False:",
        ("tests/dsl/test_engine_pure.py",),
    ),
    Mutant(
        "a word that came twice is noticed without a grouping too",
        "trident/engine/collecting.py",
        "if len(set(texts)) < len(texts):",
        "if False:",
        ("tests/dsl/test_engine_pure.py",),
    ),
    Mutant(
        "a task says nothing of ranges that it was not given",
        "trident/engine/collecting.py",
        "if named and word.edge not in given:",
        "if False:",
        ("tests/dsl/test_engine_pure.py",),
    ),
    Mutant(
        "what depends on an own state is not run while processing",
        "trident/graph/jobs.py",
        "isinstance(node, QueryNode) and node.state.name in written",
        "False",
        ("tests/dsl/test_graph.py",),
    ),
    Mutant(
        "a batch is processed when all of it is acked",
        "coordinators/acking/acker.py",
        "return self.value == 0 and not self.open",
        "return True",
        ("tests/coordinators/test_acker.py",),
    ),
    Mutant(
        "offsets are checked again after the read",
        "coordinators/batches/runner.py",
        "        self._verify_sources(plan)\n",
        "",
        _RUN,
    ),
)
_DECISIONS = ("tests/coordinators/test_decisions.py",)
_OF_A_PERSON = (
    Mutant(
        "nothing is written while an undo is open",
        "coordinators/ledger/rules/fencing.py",
        "if progress.undoing is not None:",
        "if False:",
        _LEDGERS,
    ),
    Mutant(
        "a pin diverts what was decided, and nothing else",
        "coordinators/ledger/rules/commits.py",
        "if diverted != held or len(diverted) != len(pin.diverts):",
        "if False:",
        _LEDGERS,
    ),
    Mutant(
        "the error that ended a run is raised, whatever fails after it",
        "base/closing.py",
        "        after_error(what, give_back)\n",
        "        give_back()\n",
        ("tests/coordinators/test_giving_back.py",),
    ),
    Mutant(
        "a run that did all its work does not fail for its lease",
        "base/closing.py",
        "    except TridentError as error:\n        _warn(what, error)\n\n\ndef after_error",
        "    except ZeroDivisionError:\n        pass\n\n\ndef after_error",
        ("tests/coordinators/test_giving_back.py",),
    ),
    Mutant(
        "a Postgres state with a dsn of its own follows the lease of the run",
        "state/postgres/state.py",
        "PostgresDatabase(self.dsn, lease=timeouts.lease)",
        "PostgresDatabase(self.dsn)",
        ("integration_tests/state/test_postgres_timeouts.py",),
    ),
    Mutant(
        "a refused txid waits for a person",
        "coordinators/holding/takeover.py",
        "if refusal is None or not refusal.blocks:",
        "if True:",
        _DECISIONS,
    ),
    Mutant(
        "a decision is carried out before a pin is rolled forward",
        "coordinators/holding/takeover.py",
        "        self.finish_decisions()\n        waiting = self.where_states_stand()\n",
        "        waiting = self.where_states_stand()\n",
        _DECISIONS,
    ),
    Mutant(
        "a state whose rows went with the pin has what is pinned",
        "coordinators/holding/standing.py",
        "            if went_with_the_pin and not _is_undone(snapshot, pin):\n",
        "            if False:\n",
        _DECISIONS,
    ),
    Mutant(
        "a reset is recorded only when every target can follow it",
        "coordinators/decisions/deciding.py",
        "        check_resettable(taking.stores, wanted.keep_rows)\n",
        "",
        ("tests/coordinators/test_capabilities.py",),
    ),
    Mutant(
        "rows that have lost what was before are not undone",
        "state/tables/undoing.py",
        "    if lost:\n",
        "    if False:\n",
        ("tests/state",),
    ),
    Mutant(
        "an undo deletes the rows that its txid made",
        "state/tables/undoing.py",
        "    connection.execute(text(made), values)\n",
        "",
        _STATES,
    ),
)
_SILENT = ("tests/coordinators/test_silent_engine.py",)
_TASKS = (
    Mutant(
        "a cancel is not waited for",
        "coordinators/batches/threads.py",
        "        future = self._cancelling.submit(partial(self._work.perform, request))\n"
        "        future.add_done_callback(self._break_off_if_failed)\n",
        "        self._work.perform(request)\n",
        _SILENT,
    ),
    Mutant(
        "a run that ends waits for the engine no longer than it has to",
        "coordinators/batches/threads.py",
        "wait(calls, timeout=_LONGEST_LAST_CALL_S)",
        "wait(calls)",
        _SILENT,
    ),
    Mutant(
        "a run that is fenced while it is built ends",
        "coordinators/holding/run.py",
        "        self._fenced_by = error\n",
        "",
        _SILENT,
    ),
    Mutant(
        "what the engine brings after the end of a run is not staged",
        "coordinators/batches/work.py",
        "        self._parts.runner.is_over.set()\n",
        "        del self\n",
        _SILENT,
    ),
    Mutant(
        "a position that was not put is no sign of a later epoch",
        "state/maps/target.py",
        "if not self._place.replace_reserved(found, raised):",
        "if self._place.put_reserved(found, raised):",
        ("tests/state/test_stored_bytes.py",),
    ),
    Mutant(
        "a module that is shipped to a task wins over the one imported ahead",
        "trident/executor/daemon.py",
        "        if grown:  # a worker's first task, as a rule\n",
        "        if False:\n",
        ("tests/local/test_daemon.py",),
    ),
    Mutant(
        "a finished partition leaves the assignment",
        "spouts/kafka/readers/arrow_task.py",
        "            consumer.incremental_unassign(",
        "            consumer.pause(",
        ("tests/spouts/test_finished_ranges.py",),
    ),
    Mutant(
        "a daemon with threads begins again",
        "trident/executor/preload.py",
        "return _threads() == 1",
        "return True",
        ("tests/local/test_preload.py",),
    ),
)
# Each of these is right as long as the process lives, and in every test that only throws its objects away.
_OF_DEAD_PROCESSES = (
    Mutant(
        "a write id of staged updates is not one that a dead process has used",
        "state/maps/blobs.py",
        "        write_id = uuid.uuid4().hex\n        values = {",
        '        _BLOBS.info["writes"] = _BLOBS.info.get("writes", 0) + 1\n'
        "        write_id = f\"{self._state}/{_BLOBS.info['writes']}\"\n        values = {",
        _MATRIX,
        Layer.MATRIX,
    ),
    Mutant(
        "a reset's incarnation is not one that a dead process has opened",
        "coordinators/decisions/commands.py",
        "    wanted = WantedReset(secrets.token_hex(8), keep_rows, start)\n",
        "    known = vars(reset_topology)\n"
        '    known["lives"] = known.get("lives", 0) + 1\n'
        "    wanted = WantedReset(f\"reset {known['lives']}\", keep_rows, start)\n",
        _MATRIX,
        Layer.MATRIX,
    ),
    Mutant(
        "a lease's holder is the process that holds it, not the one that it was forked from",
        "coordinators/ledger/sql/sqlite.py",
        "        return PresenceMark(os.getpid(), socket.gethostname(), _started(os.getpid()))\n",
        '        own = vars(ProcessPresence.hold).setdefault("own", os.getpid())\n'
        "        return PresenceMark(own, socket.gethostname(), _started(own))\n",
        _MATRIX,
        Layer.MATRIX,
    ),
)
_OF_DEAD_SERVERS = (
    Mutant(
        "each run of a task stages under an id of its own",
        "state/postgres/writer.py",
        "        write_id = uuid.uuid4().hex\n",
        "        from pyspark import TaskContext\n\n"
        "        task = TaskContext.get()\n"
        '        write_id = f"{self.batch.attempt}-{task.partitionId()}" if task else uuid.uuid4().hex\n',
        _CHAOS,
        Layer.CHAOS,
    ),
    Mutant(
        "a database that is starting is waited for",
        "state/postgres/errors.py",
        '    "permission denied for database": "the user may not connect to this database",\n',
        '    "permission denied for database": "the user may not connect to this database",\n'
        '    "the database system is": "the server takes no connections",\n',
        _CHAOS,
        Layer.CHAOS,
    ),
    Mutant(
        "a driver that was stopped inside a transaction asks again, and finds itself fenced",
        "state/postgres/errors.py",
        '    "25P03",  # idle in transaction for too long: this process was stopped\n',
        "",
        _CHAOS,
        Layer.CHAOS,
    ),
)
MUTANTS = (
    *_VALUES,
    *_STATE,
    *_VERSIONS,
    *_LEDGER,
    *_COORDINATOR,
    *_OF_A_PERSON,
    *_TASKS,
    *_OF_DEAD_PROCESSES,
    *_OF_DEAD_SERVERS,
)
