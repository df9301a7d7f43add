"""The mutants of a forget: what is let go of, in which order, and what is left that refuses an old owner."""

from __future__ import annotations

from typing import Final

from tests.mutants.mutant import Mutant

_LIVES: Final = "tests/coordinators/test_forgetting.py"
_OTHERS: Final = "tests/coordinators/test_forgetting_beside_others.py"
_PLACES: Final = "tests/state/test_forgetting.py"
_LEDGER: Final = "tests/ledger/test_sqlite_ledger.py::TestSqliteLedger"
_MEMORY: Final = "tests/ledger/test_memory_ledger.py::TestMemoryLedger"
_POSTGRES: Final = "integration_tests/state/test_forgetting.py"
_DECIDING: Final = "coordinators/decisions/forgetting.py"

FORGETTING: Final = (
    Mutant(
        "a run is refused while its topology is being forgotten",
        "coordinators/holding/takeover.py",
        "        require_not_forgotten(seen)\n",
        "",
        (f"{_LIVES}::test_a_forget_that_is_cut_off_anywhere_is_finished",),
    ),
    Mutant(
        "a retry is refused while its topology is being forgotten",
        "coordinators/decisions/deciding.py",
        "    require_not_forgotten(snapshot)\n",
        "",
        (f"{_LIVES}::test_a_forget_that_is_cut_off_anywhere_is_finished",),
    ),
    Mutant(
        "a forget is recorded before its first effect",
        _DECIDING,
        '    taking.repeater.call("recording a decision", record)\n',
        "",
        (f"{_LIVES}::test_a_forget_that_is_cut_off_anywhere_is_finished",),
    ),
    Mutant(
        "a forget with other tables than were decided is refused",
        _DECIDING,
        "    elif decision.state != tables:\n",
        "    elif False:\n",
        (f"{_LIVES}::test_a_forget_that_is_cut_off_anywhere_is_finished",),
    ),
    Mutant(
        "nothing is let go of while a txid is pinned",
        _DECIDING,
        "    if snapshot.pin is not None:\n",
        "    if False and snapshot.pin is not None:\n",
        (f"{_LIVES}::test_what_is_pinned_is_rolled_forward_or_made_void_first",),
    ),
    Mutant(
        "nothing is let go of while a refusal waits for a person",
        _DECIDING,
        "    if snapshot.refusal is not None and snapshot.refusal.blocks:\n",
        "    if False and snapshot.refusal is not None:\n",
        (f"{_LIVES}::test_what_is_open_is_decided_first",),
    ),
    Mutant(
        "nothing is let go of while a reset is open",
        _DECIDING,
        "    if snapshot.open_reset is not None:\n",
        "    if False and snapshot.open_reset is not None:\n",
        (f"{_LIVES}::test_what_is_open_is_decided_first",),
    ),
    Mutant(
        "a state of another moment is not let go of",
        _DECIDING,
        "    taking.held_against(seen, positions)\n",
        "",
        (f"{_LIVES}::test_a_state_that_is_gone_or_of_another_moment_is_refused",),
    ),
    Mutant(
        "what waits in a sink is sent before it is let go of",
        _DECIDING,
        "    send_what_waits(taking, stores, must_all=True)\n",
        "",
        (f"{_LIVES}::test_a_sink_sends_what_waits_and_its_marker_stands_nowhere",),
    ),
    Mutant(
        "a person is asked before anything is changed",
        _DECIDING,
        "    agree(_prospect(taking, stores, seen, tables))\n    taking.as_registered(seen)\n",
        "    taking.as_registered(seen)\n",
        (f"{_LIVES}::test_nothing_is_changed_unless_a_person_agrees_to_what_they_hear",),
    ),
    Mutant(
        "what can't be let go of is refused before anything is changed",
        "coordinators/decisions/commands.py",
        "            forgetting_of(store)\n",
        "            pass\n",
        (f"{_LIVES}::test_what_can_not_be_let_go_of_is_refused_by_name_before_anything_is_changed",),
    ),
    Mutant(
        "a table without a position is asked for nothing: it may be another one's",
        "state/tables/forgetting.py",
        "        row = place.applied.own(connection, owner.topology)\n",
        "        row = place.applied.read(connection, owner.topology)\n",
        (f"{_LIVES}::test_a_place_that_is_another_ones_by_now_is_asked_for_nothing",),
    ),
    Mutant(
        "another life is not let go of: a table",
        "state/tables/forgetting.py",
        "        if row.position.owner != owner:\n",
        "        if False:\n",
        (f"{_PLACES}::TestTable::test_another_life_is_not_let_go_of",),
    ),
    Mutant(
        "another life is not let go of: memory",
        "state/memory/forgetting.py",
        "        if position.owner != owner:\n",
        "        if False:\n",
        (f"{_PLACES}::TestMemory::test_another_life_is_not_let_go_of",),
    ),
    Mutant(
        "another life is not let go of: a marker",
        "state/kafka/moves.py",
        "        if mine.position.owner != owner:\n"
        '            raise MismatchError(f"sink {name!r} {stands(mine.position)}; nothing was changed")\n'
        "        return Change(Marker(owner, epoch, mine.cluster))\n",
        "        return Change(Marker(owner, epoch, mine.cluster))\n",
        (f"{_PLACES}::TestKafka::test_another_life_is_not_let_go_of",),
    ),
    Mutant(
        "an exchanged database is not taken for one that was let go of",
        "state/tables/forgetting.py",
        "                require_line(transaction.connection, self.place.dialect, owner.topology, epoch)\n",
        "                pass\n",
        (f"{_LIVES}::test_a_database_that_was_exchanged_between_the_halves_is_not_taken_for_let_go_of",),
    ),
    Mutant(
        "the fence of what was let go of stays beside the ledger, too",
        "state/tables/forgetting.py",
        "            raise_fence(transaction.connection, owner.topology, epoch)\n"
        "            self._let_go(transaction.connection, owner, epoch, drops)\n            reached",
        "            self._let_go(transaction.connection, owner, epoch, drops)\n            reached",
        (f"{_PLACES}::TestTable",),
    ),
    Mutant(
        "an old owner is not born where its topology was let go of",
        "state/tables/meta.py",
        "        _refuse_older(connection, owner.topology, epoch)\n",
        "",
        (f"{_PLACES}::TestTable::test_an_old_owner_does_not_take_back_what_nobody_has_taken_since",),
    ),
    Mutant(
        "an old owner is not born in an outbox that was let go of",
        "state/kafka/outbox/stored.py",
        "        self._refuse_older(transaction, owner.topology, epoch)\n",
        "",
        (f"{_PLACES}::TestOutbox::test_an_old_owner_that_has_read_its_birth_is_not_born_beside_the_ledger",),
    ),
    Mutant(
        "what waits in an outbox is never deleted by a forget",
        "state/kafka/forgetting.py",
        "            if row is not None and self.outbox.has_waiting(transaction, owner.topology, row.newest_txid):\n",
        "            if False:\n",
        (f"{_PLACES}::TestOutbox::test_what_waits_is_not_deleted",),
    ),
    Mutant(
        "the epoch of a marker stays when its position goes",
        "state/kafka/moves.py",
        "        return Change(Marker(owner, epoch, mine.cluster, used_up",
        '        return Change(Marker(owner, Epoch(0, "a"), mine.cluster, used_up',
        (f"{_PLACES}::TestKafka",),
    ),
    Mutant(
        "no producer stands anywhere once its sink is let go of",
        "state/kafka/sender.py",
        "            self.bulk.let_go(owner, epoch)\n",
        "            pass\n",
        (f"{_PLACES}::TestBulk::test_no_producer_stands_anywhere_then",),
    ),
    Mutant(
        "a memory state keeps the epoch that has let go of it",
        "state/memory/forgetting.py",
        "        place.put(transaction, owner.topology, Standing(None, epoch))\n",
        '        place.put(transaction, owner.topology, Standing(None, Epoch(0, "a")))\n',
        (f"{_PLACES}::TestMemory",),
    ),
    Mutant(
        "a state that was let go of is no other topology's hindrance in memory",
        "state/memory/place.py",
        " and found.position is not None]\n",
        "]\n",
        (f"{_PLACES}::TestMemory::test_a_topology_of_another_name_has_the_state_then",),
    ),
    Mutant(
        "only the table that its state has written to is dropped",
        "state/tables/forgetting.py",
        "        if found is not None and noted is not None and number_of(found) != number_of(noted):\n",
        "        if False:\n",
        (f"{_POSTGRES}::test_a_table_that_was_exchanged_is_not_dropped",),
    ),
    Mutant(
        "a table that another schema's positions name is not dropped",
        "state/tables/forgetting.py",
        "        for claim in place.ownership.claims(connection):\n",
        "        for claim in ():\n",
        (f"{_POSTGRES}::test_a_table_that_another_schema_has_a_position_for_is_not_dropped",),
    ),
    Mutant(
        "what will be done is tried before it is recorded",
        _DECIDING,
        '        try_with_patience(taking.repeater, f"forget of {name!r}", partial(taking.unless_fenced, check))\n',
        "        pass\n",
        (f"{_POSTGRES}::test_a_table_that_something_hangs_on_is_refused_before_anything_is_changed",),
    ),
    Mutant(
        "a stopped owner's session is ended before its table is dropped",
        _DECIDING,
        '            taking.repeater.call(f"ending what older epochs left open in {name!r}", end_older)\n',
        "            pass\n",
        (f"{_POSTGRES}::test_an_old_owner_that_stands_still_with_a_lock_is_ended",),
    ),
    Mutant(
        "a sink's table is not dropped",
        "state/tables/forgetting.py",
        "        drops_table = drops and not self.keeps_rows\n",
        "        drops_table = drops\n",
        (f"{_PLACES}::TestRows::test_it_stands_nowhere_and_holds_what_a_person_said",),
    ),
    Mutant(
        "a SQL ledger uses no txid again of what was let go of",
        "coordinators/ledger/sql/registration.py",
        "    last, forgotten_in = used_up or (0, 0)\n",
        "    last, forgotten_in = 0, 0\n",
        (f"{_LEDGER}::test_who_begins_under_its_name_is_above_all_of_it",),
    ),
    Mutant(
        "a memory ledger uses no txid again of what was let go of",
        "coordinators/ledger/memory/beginnings.py",
        "first_entry(spec, draw_id(), rows.used_up(spec.name))",
        "first_entry(spec, draw_id())",
        (f"{_MEMORY}::test_who_begins_under_its_name_is_above_all_of_it",),
    ),
    Mutant(
        "a standby hears in which epoch its topology was forgotten: SQL",
        "coordinators/ledger/sql/registration.py",
        "    return forgotten_in\n",
        "    return 0\n",
        (f"{_OTHERS}::test_a_standby_does_not_begin_anew_what_was_forgotten_meanwhile",),
    ),
    Mutant(
        "a standby hears in which epoch its topology was forgotten: memory",
        "coordinators/ledger/memory/beginnings.py",
        "rows.used_up(spec.name)[2] if found is None else 0",
        "0",
        (f"{_MEMORY}::test_who_begins_under_its_name_is_above_all_of_it",),
    ),
    Mutant(
        "a standby that began to wait while a forget was at work is told as well",
        "coordinators/holding/at_rest.py",
        "forgotten_in >= waited_for",
        "forgotten_in > waited_for",
        (f"{_OTHERS}::test_a_standby_does_not_begin_anew_what_was_forgotten_meanwhile",),
    ),
    Mutant(
        "a forget leaves another ledger's fence alone",
        "state/tables/meta.py",
        "    found = _stored_fence(connection, topology)\n    if found is not None and found.line != epoch.line:\n",
        "    found = _stored_fence(connection, topology)\n    if False and found is not None:\n",
        (f"{_OTHERS}::test_a_fence_of_another_ledgers_topology_of_that_name_is_left_alone",),
    ),
    Mutant(
        "a forget that is finished leaves another ledger's fence alone",
        "state/tables/forgetting.py",
        "            else:\n                require_no_other_line(transaction.connection, owner.topology, epoch)\n",
        "",
        (f"{_OTHERS}::test_a_fence_of_another_ledgers_topology_of_that_name_is_left_alone",),
    ),
    Mutant(
        "a marker that stands nowhere says what was sent",
        "state/kafka/marker.py",
        "    elif marker.used_up:\n",
        "    elif False:\n",
        (f"{_OTHERS}::test_a_ledger_that_was_put_back_before_a_forget_sends_nothing_again",),
    ),
    Mutant(
        "nothing is born behind what was sent before a forget",
        "state/kafka/moves.py",
        "            if birth_txid < mine.used_up:\n",
        "            if False:\n",
        (f"{_OTHERS}::test_a_ledger_that_was_put_back_before_a_forget_sends_nothing_again",),
    ),
    Mutant(
        "who began to wait after a forget begins anew",
        "coordinators/holding/at_rest.py",
        "    if waited_for is not None and forgotten_in >= waited_for:\n",
        "    if waited_for is not None and forgotten_in:\n",
        (f"{_OTHERS}::test_who_waits_since_a_forget_begins_anew",),
    ),
    Mutant(
        "what is left of a topology that was let go of is no topology",
        "coordinators/ledger/sql/reads.py",
        "    return _progress(row) if row is not None and row.incarnation else None\n",
        "    return _progress(row) if row is not None else None\n",
        ("tests/cli/test_commands.py::test_forget_says_what_it_lets_go_of_and_does_it_once",),
    ),
    Mutant(
        "a SQL ledger carries out only what was decided",
        "coordinators/ledger/sql/forgetting.py",
        "    if begun is None or not check_begun(topology, begun, decision) or progress.pinned is not None:\n",
        "    if begun is None:\n",
        (f"{_LEDGER}::test_only_what_was_decided_is_carried_out",),
    ),
    Mutant(
        "a SQL ledger deletes nothing of another topology",
        "coordinators/ledger/sql/forgetting.py",
        "            connection.execute(delete(table).where(table.c.topology == topology))\n",
        "            connection.execute(delete(table))\n",
        (f"{_LEDGER}::test_others_keep_all_of_theirs",),
    ),
)
