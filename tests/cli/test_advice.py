"""Every command of every error text, taken out of the error as it was raised, carried out, and the sums compared.

A scenario brings a topology into one trouble and says, command by command, what every state holds once the topology
has run again. A command that a text names and no scenario expects fails; so does advice that no scenario makes.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

import pytest

from tests.cli.advised import NOON, Sums, World, carry_out, commands_in, policies_in, summed
from tests.coordinators.fakes import POISON, Topic
from tests.coordinators.test_decisions import APART, BIG, MIXED, SHORTCUT, Scene, dying_at
from trident.base import advice
from trident.base.crash_points import CrashPoint
from trident.spouts.base import BadRecord, LostOffsets
from trident.state import BackingMapState


@dataclass
class Trouble:
    """What was said, and what every state holds after each of the commands and a run."""

    text: str
    expected: dict[str, dict[str, Sums]]
    moment: int = 1
    """The hour after noon that stands for MOMENT."""


def both(sums: Sums) -> dict[str, Sums]:
    return {"balances": sums, "totals": sums}


def ledger_lost(world: World) -> Trouble:
    world.run()
    world.lose("ledger")
    world.more()
    return Trouble(world.stops(), {"lost clear": both(world.all), "lost moment": both(world.all)})


def ledgers_tables_lost(world: World) -> Trouble:
    """The states' tables and positions live in the same database, and stayed."""
    world.run()
    kept = ["balances", "totals", "trident_applied", "trident_state_schema"]
    world.drop_tables("ledger", kept)
    world.more()
    return Trouble(world.stops(), {"lost clear": both(world.all), "lost moment": both(world.all)})


def only_rows_left(world: World) -> Trouble:
    """Ledger and positions are lost, the rows stayed."""
    world.run()
    world.drop_tables("ledger", ["balances", "totals"])
    world.more()
    return Trouble(world.stops(), {"clear": both(world.all), "moment": both(world.all)})


def only_rows_left_and_adopted(world: World) -> Trouble:
    """A person says `adopt` and nothing else: nobody knows how far the rows have read."""
    only_rows_left(world)
    return Trouble(adopted(world), {"clear": both(world.all), "moment": both(world.all)})


def ledger_lost_and_adopted(world: World) -> Trouble:
    ledger_lost(world)
    said = adopted(world, "--ledger-lost")
    return Trouble(said, {"lost clear": both(world.all), "lost moment": both(world.all)})


def only_rows_left_and_adopted_as_lost(world: World) -> Trouble:
    only_rows_left(world)
    said = adopted(world, "--ledger-lost")
    return Trouble(said, {"lost clear": both(world.all), "lost moment": both(world.all)})


def adopted(world: World, *more: str) -> str:
    """Reset with kept rows and nothing more, which is refused; return what is said."""
    before = world.sums()
    said = failing(world, ["reset", "MODULE:TOPOLOGY", *more, "--states", "adopt"])
    assert world.sums() == before
    return said


def failing(world: World, words: list[str]) -> str:
    with pytest.MonkeyPatch.context() as patch:
        said: list[str] = []
        patch.setattr("trident.cli.app.complain", lambda error, _: said.append(str(error)))
        assert carry_out(world, world.folder, words, {}) != 0
    return said[0]


def state_from_a_backup(world: World) -> Trouble:
    """`totals` is behind, `balances` is not: with one moment for all, one of them is exact and the other as said."""
    world.run()
    world.back_up("totals")
    world.more()
    world.run()
    world.restore("totals")
    twice = summed([*world.before, *world.after, *world.after])
    return Trouble(world.stops(), {"clear": both(world.all), "moment": {"balances": twice, "totals": world.all}})


def state_from_a_backup_and_adopted(world: World) -> Trouble:
    made = state_from_a_backup(world)
    return Trouble(adopted(world), made.expected)


def state_from_a_backup_with_a_pin(world: World) -> Trouble:
    world.run()
    world.back_up("totals")
    world.more()
    world.run()
    world.more()
    world.die(CrashPoint.AFTER_PIN)
    world.restore("totals")
    return Trouble(world.stops(), {"clear": both(world.all)})


def state_from_a_backup_with_a_pin_and_adopted(world: World) -> Trouble:
    made = state_from_a_backup_with_a_pin(world)
    return Trouble(adopted(world), made.expected)


def ledger_from_a_backup(world: World) -> Trouble:
    world.run()
    world.back_up("ledger")
    world.more()
    world.run()
    world.restore("ledger")
    return Trouble(world.stops(), {"lost clear": both(world.all), "lost moment": both(world.all)}, moment=2)


def ledger_from_a_backup_with_a_pin(world: World) -> Trouble:
    world.run()
    world.more()
    world.die(CrashPoint.AFTER_PIN)
    world.back_up("ledger")
    world.run()
    world.more()
    world.run()
    world.restore("ledger")
    return Trouble(world.stops(), {"lost clear": both(world.all)}, moment=2)


def ledger_from_a_backup_with_a_pin_and_adopted(world: World) -> Trouble:
    made = ledger_from_a_backup_with_a_pin(world)
    return Trouble(adopted(world, "--ledger-lost"), made.expected)


def ledger_behind_by_epochs_only(world: World) -> Trouble:
    world.run()
    world.back_up("ledger")
    world.run()
    world.run()
    world.restore("ledger")
    world.more()
    return Trouble(world.stops(), {"lost clear": both(world.all), "lost moment": both(world.all)})


def state_gone(world: World) -> Trouble:
    world.run()
    world.lose("totals")
    world.more()
    return Trouble(world.stops(), {"clear": both(world.all)})


def state_gone_and_adopted_beside_a_lost_ledger(world: World) -> Trouble:
    state_gone(world)
    said = failing(world, ["reset", "MODULE:TOPOLOGY", "--ledger-lost", "--states", "adopt"])
    return Trouble(said, {"lost clear": both(world.all)})


def table_thinned(world: World) -> Trouble:
    world.run()
    world.by_hand("totals", "DELETE FROM totals WHERE account = 'b'")
    world.more()
    left = summed([record for record in world.before if record[0] != "b"] + world.after)
    return Trouble(world.stops(), {"clear": both(world.all), "adopt": {"balances": world.all, "totals": left}})


def thinned(world: World) -> Trouble:
    """A row that nothing open touches is gone."""
    world.by_hand("totals", "DELETE FROM totals WHERE account = 'a0'")
    left = summed(record for record in [*world.before, *world.after] if record[0] != "a0")
    return Trouble(world.stops(), {"clear": both(world.all), "adopt": {"balances": world.all, "totals": left}})


def table_thinned_beside_a_pin(world: World) -> Trouble:
    world.run()
    world.more()
    world.die(CrashPoint.AFTER_PIN)
    return thinned(world)


def table_thinned_beside_a_pin_that_one_has(world: World) -> Trouble:
    world.run()
    world.more()
    world.die(CrashPoint.AFTER_APPLY)
    return thinned(world)


def table_thinned_beside_an_undo(world: World) -> Trouble:
    undoing(world, CrashPoint.AFTER_DECIDING_UNDO)
    return thinned(world)


def table_thinned_beside_an_undo_that_one_has(world: World) -> Trouble:
    undoing(world, CrashPoint.AFTER_UNDOING_STATE)
    return thinned(world)


def undoing(world: World, point: CrashPoint) -> None:
    """An undo is recorded, and dies."""
    world.run()
    world.more()
    world.die(CrashPoint.AFTER_APPLY)
    with dying_at(point):
        carry_out(world, world.folder, ["undo", "MODULE:TOPOLOGY", "2"], {})


def table_emptied(world: World) -> Trouble:
    world.run()
    world.by_hand("totals", "DELETE FROM totals")
    world.more()
    return Trouble(world.stops(), {"clear": both(world.all)})


def table_emptied_and_adopted(world: World) -> Trouble:
    """There is nothing to keep; a reset that can't be carried out is not recorded either."""
    made = table_emptied(world)
    return Trouble(adopted(world), made.expected)


def ledger_lost_and_table_emptied(world: World) -> Trouble:
    return without_rows_and_ledger(world, "DELETE FROM totals")


def ledger_lost_and_table_dropped(world: World) -> Trouble:
    return without_rows_and_ledger(world, "DROP TABLE totals")


def without_rows_and_ledger(world: World, statement: str) -> Trouble:
    """A person follows the advice for a lost ledger, and there is nothing to keep."""
    ledger_lost(world)
    world.by_hand("totals", statement)
    words = ["reset", "MODULE:TOPOLOGY", "--ledger-lost", "--states", "adopt", "--start", NOON.isoformat()]
    said = failing(world, words)
    assert world.has_table("totals") == (statement != "DROP TABLE totals"), "nothing was changed"
    return Trouble(said, {"lost clear": both(world.all)})


def table_emptied_in_a_recorded_reset_of_a_lost_ledger(world: World) -> Trouble:
    """The recorded reset has named what it had found: the states are the ledger's own from then on."""
    ledger_lost(world)
    words = ["reset", "MODULE:TOPOLOGY", "--ledger-lost", "--states", "adopt", "--start", NOON.isoformat()]
    with dying_at(CrashPoint.AFTER_DECIDING_RESET):
        carry_out(world, world.folder, words, {})
    world.by_hand("totals", "DELETE FROM totals")
    return Trouble(world.stops(), {"clear": both(world.all)})


def position_lost(world: World) -> Trouble:
    """The ledger knows the state, and its rows stayed."""
    world.run()
    world.lose_position("totals")
    world.more()
    return Trouble(world.stops(), {"clear": both(world.all), "moment": both(world.all)})


def position_lost_beside_the_ledger(world: World) -> Trouble:
    return position_lost(world)


def positions_lost_of_all(world: World) -> Trouble:
    world.run()
    world.lose_position("balances", "totals")
    world.more()
    return Trouble(world.stops(), {"clear": both(world.all), "moment": both(world.all)})


def position_lost_and_adopted(world: World) -> Trouble:
    """Nobody knows how far the rows have read: there is nothing to resume."""
    made = position_lost(world)
    return Trouble(adopted(world), made.expected)


def position_lost_with_a_pin(world: World) -> Trouble:
    """The rows may have what is pinned, or not: no moment says what they hold."""
    world.run()
    world.more()
    world.die(CrashPoint.AFTER_PIN)
    world.lose_position("totals")
    return Trouble(world.stops(), {"clear": both(world.all)})


def position_lost_with_a_pin_and_adopted(world: World) -> Trouble:
    made = position_lost_with_a_pin(world)
    return Trouble(adopted(world), made.expected)


def position_lost_of_a_state_that_has_just_been_born(world: World) -> Trouble:
    """Its birth is recorded, it could be registered: what its table holds is nobody's."""
    world.die(CrashPoint.AFTER_RECORDING_BIRTHS)
    for name in ("balances", "totals"):
        world.by_hand(name, f"INSERT INTO {name} (account, n, total, txid) VALUES ('x', 1, 1, 0)")
    strange = {"x": (1, 1), **world.all}
    return Trouble(world.stops(), {"clear": both(world.all), "moment": both(strange)}, moment=0)


def position_and_rows_lost(world: World) -> Trouble:
    """There is nothing to keep, whatever moment a person names."""
    world.run()
    world.lose_position("totals")
    world.by_hand("totals", "DELETE FROM totals")
    world.more()
    said = world.stops()
    assert "state 'totals' is gone" in said
    kept = failing(world, ["reset", "MODULE:TOPOLOGY", "--states", "adopt", "--start", NOON.isoformat()])
    assert "state 'totals' is gone" in kept
    return Trouble(said, {"clear": both(world.all)})


def position_lost_in_a_recorded_reset(world: World) -> Trouble:
    adopting(world)
    world.lose_position("totals")
    return Trouble(world.stops(), {"clear": both(world.all)})


def adopting(world: World) -> None:
    """A reset that keeps rows is recorded, and dies before a state has followed."""
    world.run()
    with dying_at(CrashPoint.AFTER_DECIDING_RESET):
        carry_out(world, world.folder, ["reset", "MODULE:TOPOLOGY", "--states", "adopt"], {})
    world.more()


def state_from_a_backup_in_a_recorded_reset(world: World) -> Trouble:
    world.run()
    world.back_up("totals")
    world.more()
    world.run()
    adopting(world)
    world.restore("totals")
    return Trouble(world.stops(), {"clear": both(world.all)})


def table_emptied_in_a_recorded_reset(world: World) -> Trouble:
    adopting(world)
    world.by_hand("totals", "DELETE FROM totals")
    return Trouble(world.stops(), {"clear": both(world.all)})


def rows_too_new_for_a_recorded_reset(world: World) -> Trouble:
    adopting(world)
    world.by_hand("totals", "UPDATE totals SET txid = 99 WHERE account = 'b'")
    return Trouble(world.stops(), {"clear": both(world.all)})


def topic_made_anew(world: World) -> Trouble:
    world.run()
    expected = made_anew(world)
    return Trouble(world.stops(), expected)


def topic_deleted(world: World) -> Trouble:
    """Between two runs; to create it, as the text says, is one half of the way."""
    world.run()
    world.topic.is_deleted = True
    said = world.stops()
    assert "was deleted" in said
    expected = made_anew(world)
    assert commands_in(world.stops()).keys() == expected.keys()
    return Trouble(said, expected)


def made_anew(world: World) -> dict[str, dict[str, Sums]]:
    """Let there be a topic of the same name, and say what a topology holds that begins to read it."""
    counted = world.before
    anew = Topic([[], []], topic_id="another", came={0: [], 1: []})
    world.topic = anew
    world.before = []
    world.more()
    return {"clear": both(world.all), "moment": both(summed([*counted, *world.after]))}


def rows_of_another_moment_resumed(world: World) -> Trouble:
    """They were adopted with a moment, and then a person asks for where they stood."""
    made = state_from_a_backup(world)
    words = ["reset", "MODULE:TOPOLOGY", "--states", "adopt", "--start"]
    moment = (NOON + timedelta(hours=made.moment)).isoformat()
    assert carry_out(world, world.folder, [*words, moment], {}) == 0
    before = world.sums()
    said = failing(world, [*words, "resume"])
    assert world.sums() == before
    return Trouble(said, made.expected)


def log_shorter_than_what_was_read(world: World) -> Trouble:
    world.run()
    del world.topic.partitions[0][20:], world.topic.came[0][20:]
    world.after = world.come(0, [("late", 3)] * 2, 1)
    held = Topic(world.topic.partitions).expected()
    return Trouble(world.stops(), {"clear": both(held), "moment": both(world.all)})


def log_cut_and_grown_again(world: World) -> Trouble:
    world.topic.epoch = 3
    world.run()
    world.topic.cut(0, 20)
    del world.topic.came[0][20:]
    world.after = world.come(0, [("late", 3)] * 40, 1)
    held = Topic(world.topic.partitions).expected()
    return Trouble(world.stops(), {"clear": both(held), "moment": both(world.all)})


def planned_and_cut(world: World) -> Trouble:
    world.transactional()
    world.topic.epoch = 3
    world.run()
    world.come(0, [("gone", 1)] * 8, 1)
    world.die(CrashPoint.AFTER_PLAN)
    world.topic.cut(0, 27)
    del world.topic.came[0][27:]
    world.come(0, [("late", 3)] * 9, 1)
    held = Topic(world.topic.partitions).expected()
    return Trouble(world.stops(), {"clear": both(held), "adopt": both(held)})


def planned_of_another_topic(world: World) -> Trouble:
    world.transactional()
    world.run()
    world.topic.partitions.append([("gone", 1)] * 5)
    world.die(CrashPoint.AFTER_PLAN)
    world.topic.partitions[2] = [("late", 3)] * 9
    world.topic.ids[2] = "another"
    held = Topic(world.topic.partitions).expected()
    return Trouble(world.stops(), {"clear": both(held), "adopt": both(held)})


def offsets_gone(world: World) -> Trouble:
    """Two of partition 0 were never counted and are gone; what was counted before is gone too."""
    world.run()
    world.more()
    world.topic.earliest[0] = 27
    left = summed(world.topic.partitions[0][27:] + world.topic.partitions[1])
    lost = world.topic.partitions[0][25:27]
    kept = Counter([*world.before, *world.after]) - Counter(lost)
    counted = summed(kept.elements())
    return Trouble(
        world.stops(),
        {"clear": both(left), "moment": both(counted), "on_lost_offsets": both(counted)},
    )


def offsets_gone_of_a_transactional_stream(world: World) -> Trouble:
    world.transactional()
    made = offsets_gone(world)
    del made.expected["on_lost_offsets"]
    return made


def offsets_gone_of_an_opaque_stream(world: World) -> Trouble:
    made = offsets_gone(world)
    return replace(made, expected={"on_lost_offsets": made.expected["on_lost_offsets"]})


def bad_record(world: World) -> Trouble:
    world.run()
    world.more()
    good = world.all
    world.come(0, [POISON], 1)
    return Trouble(world.stops(), {"on_bad_record": both(good)})


def staging_lost(world: World) -> Trouble:
    world.run()
    world.more()
    world.die(CrashPoint.AFTER_PIN)
    world.by_hand("totals", 'DELETE FROM "trident_staging_totals"')
    return Trouble(world.stops(), {"undo": both(world.all), "clear": both(world.all)})


class OnlyPuts:
    """A user's store in memory that the library can't empty."""

    def __init__(self) -> None:
        self.kept: dict[object, object] = {}

    def multi_get(self, keys: list[object]) -> list[object]:
        return [self.kept.get(key) for key in keys]

    def multi_put(self, items: list[tuple[object, object]]) -> None:
        self.kept.update(items)


class MapWorld(World):
    """One state in a map."""

    def sums(self) -> dict[str, Sums]:
        (state,) = self.made
        assert isinstance(state, BackingMapState)
        assert isinstance(state.backing_map, OnlyPuts)
        rows = {key[0]: value.current for key, value in state.backing_map.kept.items() if hasattr(value, "current")}
        return {"balances": {account: (values[0], values[1]) for account, values in rows.items()}}


def map_that_can_not_be_emptied(world: World) -> Trouble:
    world.__class__ = MapWorld
    world.made = [BackingMapState("balances", OnlyPuts())]  # type: ignore[arg-type]
    world.run()
    world.more()
    said = failing(world, ["reset", "MODULE:TOPOLOGY", "--states", "clear"])
    return Trouble(said, {"adopt": {"balances": world.all}})


def table_that_keeps_its_rows(world: World) -> Trouble:
    world.run()
    world.by_hand("totals", "CREATE TRIGGER kept BEFORE DELETE ON totals BEGIN SELECT RAISE(IGNORE); END")
    world.more()
    before = world.sums()
    said = failing(world, ["reset", "MODULE:TOPOLOGY", "--states", "clear"])
    assert world.sums() == before
    return Trouble(said, {"adopt": both(world.all)})


_RANGES, _STANDING = "coordinators/plans/ranges.py", "coordinators/holding/standing.py"
_TELLING, _DECIDING = "coordinators/holding/telling.py", "coordinators/decisions/deciding.py"
_COUNTING, _COMMITTER = "state/tables/counting.py", "coordinators/batches/committer.py"
_FENCING = "coordinators/holding/fencing.py"

BESIDE = {ledgers_tables_lost, only_rows_left, only_rows_left_and_adopted, only_rows_left_and_adopted_as_lost}
BESIDE |= {position_lost_beside_the_ledger}

SCENARIOS: dict[Callable[[World], Trouble], tuple[str, ...]] = {
    ledger_lost: (f"{_STANDING} RESET_LOST",),
    ledgers_tables_lost: (),
    only_rows_left: (f"{_COUNTING} RESET_ANEW",),
    only_rows_left_and_adopted: (f"{_DECIDING} RESET_ANEW",),
    only_rows_left_and_adopted_as_lost: (f"{_DECIDING} RESET_LOST",),
    ledger_lost_and_adopted: (),
    state_from_a_backup: (f"{_STANDING} RESET_ANEW",),
    state_from_a_backup_and_adopted: (),
    state_from_a_backup_with_a_pin: (f"{_STANDING} RESET_CLEARING",),
    state_from_a_backup_with_a_pin_and_adopted: (f"{_DECIDING} RESET_CLEARING",),
    ledger_from_a_backup: (f"{_STANDING} RESET_LOST",),
    ledger_from_a_backup_with_a_pin: (f"{_STANDING} RESET_LOST_CLEARING",),
    ledger_from_a_backup_with_a_pin_and_adopted: (f"{_DECIDING} RESET_LOST_CLEARING",),
    ledger_behind_by_epochs_only: (f"{_FENCING} RESET_LOST",),
    state_gone: (f"{_STANDING} RESET_CLEARING",),
    state_gone_and_adopted_beside_a_lost_ledger: (f"{_DECIDING} RESET_LOST_CLEARING",),
    table_thinned: (f"{_COUNTING} RESET_CLEARING", f"{_COUNTING} RESET_KEEPING_ROWS"),
    table_thinned_beside_a_pin: (),
    table_thinned_beside_a_pin_that_one_has: (),
    table_thinned_beside_an_undo: (),
    table_thinned_beside_an_undo_that_one_has: (),
    table_emptied: (),
    table_emptied_and_adopted: (),
    ledger_lost_and_table_emptied: (f"{_DECIDING} RESET_LOST_CLEARING",),
    ledger_lost_and_table_dropped: (),
    table_emptied_in_a_recorded_reset_of_a_lost_ledger: (),
    position_lost: (f"{_STANDING} RESET_ANEW",),
    position_lost_beside_the_ledger: (),
    positions_lost_of_all: (),
    position_lost_and_adopted: (),
    position_lost_with_a_pin: (f"{_STANDING} RESET_CLEARING",),
    position_lost_with_a_pin_and_adopted: (),
    position_lost_of_a_state_that_has_just_been_born: (),
    position_and_rows_lost: (),
    position_lost_in_a_recorded_reset: (),
    state_from_a_backup_in_a_recorded_reset: (),
    table_emptied_in_a_recorded_reset: (),
    rows_too_new_for_a_recorded_reset: (f"{_TELLING} RESET_CLEARING",),
    rows_of_another_moment_resumed: (),
    topic_made_anew: (f"{_RANGES} RESET_ANEW",),
    topic_deleted: (f"{_RANGES} RESET_ANEW",),
    log_shorter_than_what_was_read: (f"{_RANGES} RESET_CLEARING", f"{_RANGES} RESET_FROM_A_MOMENT"),
    log_cut_and_grown_again: (),
    planned_and_cut: (f"{_RANGES} RESET",),
    planned_of_another_topic: (f"{_RANGES} RESET",),
    offsets_gone_of_a_transactional_stream: (f"{_RANGES} RESET_ANEW",),
    offsets_gone_of_an_opaque_stream: (),
    bad_record: (),
    staging_lost: (f"{_COMMITTER} UNDO", f"{_COMMITTER} RESET_CLEARING"),
    table_that_keeps_its_rows: ("coordinators/holding/trying.py RESET_KEEPING_ROWS",),
    map_that_can_not_be_emptied: ("state/maps/resetting.py RESET_KEEPING_ROWS",),
}

ELSEWHERE = {
    # tests/coordinators/test_renaming.py: a ledger that was restored to before a rename
    "state/renaming.py RESET_LOST": 1,
    "state/tables/meta.py RESET_LOST": 1,
    # tests/coordinators/test_forgetting_beside_others.py, of a ledger that was put back before a forget
    "state/kafka/moves.py RESET_LOST_CLEARING": 1,
    # integration_tests/spouts/test_python_spouts.py::test_a_stream_of_bare_positions_starts_at_no_moment
    "coordinators/plans/ranges.py RESET_CLEARING": 2,
    # the same words in the same trouble as `topic_made_anew`, seen by Kafka: integration_tests/kafka_traps
    "spouts/kafka/source.py RESET_ANEW": 2,
    # integration_tests/spouts/test_restored_folders.py, tests/spouts/test_corrected_files.py
    "spouts/files/errors.py RESET_CLEARING": 4,
    "spouts/files/errors.py RESET": 1,
    # tests/spouts/test_corrected_files.py::test_what_is_said_of_a_lost_catalogue_leads_out
    "spouts/files/errors.py RESET_FROM_THE_BEGINNING": 1,
    # tests/coordinators/test_diverting_refused.py::test_what_was_mended_meanwhile_is_taken_whole
    "coordinators/decisions/diverting_refused.py RETRY": 1,
    # tests/coordinators/test_diverting_what_is_held.py::test_what_gave_up_with_a_divert_held_goes_on_without_all_rows
    "coordinators/batches/runner.py DIVERT": 1,
    # tests/coordinators/test_diverting_what_is_held.py::test_nothing_is_taken_out_is_said_with_what_takes_all
    "coordinators/batches/sifting.py DIVERT": 1,
    # tests/coordinators/test_reapplying.py::test_the_log_names_what_puts_the_rows_back
    "coordinators/batches/sifting.py REAPPLY": 1,
    # integration_tests/state/test_states_that_refer.py::test_a_row_that_an_undo_needs_leaves_one_way
    "coordinators/holding/carrying_out.py RESET_CLEARING": 1,
    # tests/coordinators/test_levels_kept.py, tests/doctor/test_examining.py
    "coordinators/holding/plain_standing.py RESET_ANEW": 3,
    "coordinators/holding/plain_standing.py RESET_CLEARING": 3,
    # integration_tests/levels/test_owning_postgres.py::test_a_table_that_was_exchanged_in_its_database_is_seen
    "coordinators/holding/plain_standing.py RESET_KEEPING_ROWS": 1,
    # integration_tests/levels/test_owning_postgres.py, tests/state/test_owning.py
    "state/tables/owning.py DROP": 1,
    "coordinators/holding/plain_standing.py RESET_LOST": 2,
    # integration_tests/sinks/test_several_outputs.py::test_a_table_that_was_dropped_stops_the_start
    "state/row_tables/keeping.py RESET_KEEPING_ROWS": 1,
    # integration_tests/sinks/test_several_outputs.py::test_records_that_can_never_be_sent_are_taken_out_of_what_waits
    # tests/coordinators/test_bulk_lives.py::test_files_that_are_gone_are_given_up_by_name_and_all_else_is_sent
    "state/kafka/outbox/relaying.py DIVERT": 2,
    # tests/coordinators/test_forgetting.py::test_the_command_that_a_start_names_finishes_it
    # tests/coordinators/test_forgetting_places.py::test_the_command_that_is_named_finishes_without_what_is_lost
    "coordinators/ledger/rules/forgetting.py FORGET": 2,
    # tests/coordinators/test_forgetting.py::test_the_reset_that_a_forget_names_makes_void_what_is_open
    # tests/coordinators/test_forgetting_places.py::test_nothing_is_lost_before_a_forget_is_begun
    "coordinators/decisions/forgetting.py RESET_CLEARING": 2,
    # tests/state/test_bulk_rows.py::test_what_waits_and_is_sent_in_part_names_the_reset_that_goes_on
    "state/kafka/outbox/relaying.py RESET_CLEARING": 2,
    # tests/state/test_bulk_rows.py::test_a_producer_whose_marker_is_gone_stops_the_start_and_is_healed_by_a_reset
    "state/kafka/bulk/sending.py RESET_CLEARING": 2,
    # tests/coordinators/test_outbox_lives.py::test_a_reset_that_clears_goes_on_whatever_became_of_the_marker
    "state/kafka/outbox/keeping.py RESET_CLEARING": 2,
    # `test_a_refusal_that_waits_for_a_person` below
    "coordinators/refusals.py RETRY": 1,
    "coordinators/refusals.py DIVERT": 1,
    "coordinators/refusals.py UNDO": 1,
    # tests/coordinators/test_dropping.py::test_the_command_that_a_version_without_it_names_takes_it_out
    "coordinators/ledger/rules/specs.py DROP": 1,
    # tests/coordinators/test_renaming.py::test_the_command_that_the_refused_start_names_renames_it
    # and ::test_the_older_version_is_refused_by_name_and_goes_back_by_the_command_that_it_names
    "coordinators/ledger/rules/renaming.py RENAME": 1,
    # tests/cli/test_status.py
    "trident/cli/reading.py RESET_CLEARING": 1,
    "trident/engine/places.py DROP": 1,
    # tests/cli/test_commanding.py
    "coordinators/holding/at_rest.py ACTIVATE": 1,
    "trident/cli/commanding.py ACTIVATE": 1,
    "trident/cli/reading.py ACTIVATE": 1,
}


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.__name__)
@pytest.mark.drawn(one_in=9)
def test_every_way_that_a_text_names_gives_the_sums_that_it_promises(
    scenario: Callable[[World], Trouble], tmp_path: Path
) -> None:
    (tmp_path / "trouble").mkdir()
    there = World(tmp_path / "trouble", apart=scenario not in BESIDE)
    trouble = scenario(there)
    for says in SCENARIOS[scenario]:
        assert getattr(advice, says.split()[1]) in trouble.text
    known = scenario.__name__.startswith("position")
    assert not (known and "by hand" in trouble.text), "rows of a state that the ledger knows are not to be destroyed"
    commands, policies = commands_in(trouble.text), policies_in(trouble.text)
    assert {*commands, *policies} == trouble.expected.keys()
    for way, expected in trouble.expected.items():
        world = there.copied(tmp_path / way)
        if way in policies:
            kind, _, member = policies[way].partition(".")
            world.options[way] = {"LostOffsets": LostOffsets, "BadRecord": BadRecord}[kind][member]
        else:
            moment = NOON + timedelta(hours=trouble.moment)
            assert carry_out(world, world.folder, commands[way], {"MOMENT": moment.isoformat()}) == 0, way
        world.run()
        assert world.sums() == expected, way
    world.run()  # and a restart, which finds nothing to do
    assert world.sums() == expected


@pytest.mark.parametrize(("hour", "is_twice", "is_skipped"), [(0, True, False), (1, False, False), (2, False, True)])
def test_a_moment_skips_or_counts_twice_what_the_text_says(
    hour: int, is_twice: bool, is_skipped: bool, world: World
) -> None:
    trouble = ledger_lost(world)
    words = commands_in(trouble.text)["lost moment"]
    assert carry_out(world, world.folder, words, {"MOMENT": (NOON + timedelta(hours=hour)).isoformat()}) == 0
    world.run()
    records = [*world.before, *([] if is_skipped else world.after), *(world.before if is_twice else [])]
    assert world.sums() == both(summed(records))


def test_a_table_that_is_emptied_by_hand_as_the_text_says_is_a_new_state(tmp_path: Path) -> None:
    world = World(tmp_path, apart=False)
    said = only_rows_left(world).text
    assert "Empty it by hand" in said
    with closing(sqlite3.connect(world.file("ledger"))) as connection, connection:
        connection.execute("DELETE FROM balances")
        connection.execute("DELETE FROM totals")
    world.run()
    assert world.sums() == both(world.all)


def test_a_new_state_whose_table_has_rows_leaves_no_trace(tmp_path: Path) -> None:
    """It is refused before it is born: without it the topology goes on, and with an empty table it is born later."""
    world = World(tmp_path, apart=False)
    balances, totals = world.states()
    world.made = [balances]
    world.run()
    world.made = [balances, totals]
    (tmp_path / "other").mkdir()
    other = World(tmp_path / "other", apart=False)
    other.run()
    with closing(sqlite3.connect(other.file("ledger"))) as connection:
        made = connection.execute("SELECT sql FROM sqlite_master WHERE tbl_name = 'totals' AND sql IS NOT NULL")
        statements = [row[0] for row in made]
    world.by_hand("ledger", *statements, "INSERT INTO totals (account, n, total, txid) VALUES ('x', 1, 1, 1)")
    world.more()
    world.stops()
    world.made = [balances]
    world.run()
    assert world.rows("balances") == world.all
    world.by_hand("ledger", "DELETE FROM totals")
    world.made = [balances, totals]
    world.run()
    late = world.come(0, [("last", 1)], 2)
    world.run()
    assert world.rows("totals") == summed(late)


@pytest.mark.parametrize("places", [SHORTCUT, MIXED, APART], ids=["shortcut", "one beside, one apart", "apart"])
def test_a_refusal_that_waits_for_a_person(places: frozenset[str], tmp_path: Path) -> None:
    ways = {"retry", "divert"} | ({"undo"} if places else set())
    for way in sorted(ways):
        folder = tmp_path / way
        folder.mkdir()
        scene = Scene(folder, places)
        scene.be_refused()
        text = str(scene.be_refused())
        commands = commands_in(text)
        assert commands.keys() == ways
        assert carry_out(scene, folder, commands[way], {}) == 0
        if way != "divert":
            scene.mend()
        scene.go_on()
        assert scene.rows("balances") == scene.topic.expected()
        whole = scene.topic.expected()
        left = {key: sums for key, sums in whole.items() if key != BIG[0]}
        assert scene.rows("totals") == (left if way == "divert" else whole)
        assert BIG[0] in whole


def test_status_names_the_same_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from trident.cli.app import run

    scene = Scene(tmp_path, APART)
    in_the_run, text = str(scene.be_refused()), str(scene.be_refused())
    assert commands_in(in_the_run) == commands_in(text)
    assert run(["status", "payments", "--ledger", str(tmp_path / "ledger.sqlite")]) == 5
    assert commands_in(capsys.readouterr().out) == commands_in(text)
