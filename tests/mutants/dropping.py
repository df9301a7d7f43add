"""The mutants of a drop: what is taken out of a topology has all that is done, and nothing else forgets it."""

from __future__ import annotations

from typing import Final

from tests.mutants.mutant import Mutant

_DROPPING: Final = "tests/coordinators/test_dropping.py"
_STILL: Final = "tests/state/test_standing_still.py"
_LEDGER: Final = "tests/ledger/test_sqlite_ledger.py::TestSqliteLedger"

DROPPING: Final = (
    Mutant(
        "what is pinned is finished before a state is dropped",
        "coordinators/decisions/dropping.py",
        "        taking.roll_forward(standing)\n",
        "        pass\n",
        (f"{_DROPPING}::test_what_is_pinned_is_finished_first",),
    ),
    Mutant(
        "a sink that is dropped sends what waits first",
        "coordinators/decisions/dropping.py",
        "    send_what_waits(taking, [name], must_all=True)\n",
        "",
        (f"{_DROPPING}::test_a_sink_sends_all_that_waits_and_another_goes_on_behind_it",),
    ),
    Mutant(
        "what was dropped comes back as it was",
        "coordinators/ledger/rules/dropping.py",
        "    if dict(given) != gone.description:\n",
        "    if False and dict(given) != gone.description:\n",
        (f"{_DROPPING}::test_what_was_dropped_comes_back_as_nothing_else",),
    ),
    Mutant(
        "what was dropped comes back before anything is pinned without it",
        "coordinators/ledger/rules/dropping.py",
        "    if progress.done != gone.txid or progress.pinned is not None:\n",
        "    if progress.done != gone.txid:\n",
        (
            f"{_DROPPING}::test_what_was_dropped_does_not_come_back_while_a_txid_is_pinned_without_it",
            "tests/coordinators/test_dropping_lives.py",
        ),
    ),
    Mutant(
        "what comes back has the birth that it had",
        "coordinators/ledger/rules/dropping.py",
        "    known = (*births, *(gone.birth for gone in back))\n",
        "    known = tuple(births)\n",
        (f"{_DROPPING}::test_what_comes_back_is_still_missed_where_its_rows_are_gone",),
    ),
    Mutant(
        "what is staged goes with what is dropped",
        "coordinators/decisions/dropping.py",
        "        store.forget_staging(owner, taking.epoch)\n",
        "        pass\n",
        (f"{_DROPPING}::test_what_a_state_has_staged_and_never_applied_goes_with_it",),
    ),
    Mutant(
        "what a successor has staged stays where a drop stood still: blobs of a sink",
        "state/kafka/target.py",
        "        self._blobs.delete(owner.topology, lying)\n",
        "        self._blobs.delete(owner.topology, self._blobs.lying(owner.topology))\n",
        (_STILL,),
    ),
    Mutant(
        "what a successor has staged stays where a drop stood still: blobs of a map",
        "state/maps/target.py",
        "        self._place.blobs.delete(owner.topology, lying)\n",
        "        self._place.blobs.delete(owner.topology, self._place.blobs.lying(owner.topology))\n",
        (_STILL,),
    ),
    Mutant(
        "what a successor has staged stays where a drop stood still: files",
        "state/kafka/outbox/target.py",
        "        self._sender.delete_at_drop(owner, files)\n",
        "        self._sender.delete_at_drop(owner, self._sender.files_at_drop(owner))\n",
        ("tests/state/test_bulk_rows.py::test_files_that_come_behind_the_look_at_the_fence_stay",),
    ),
    Mutant(
        "what an epoch deletes has its own fence: blobs and files of a sink",
        "state/kafka/target.py",
        "        return position if is_held(marker.epoch, epoch, self.name) else None\n",
        "        return position\n",
        ("tests/state/test_kafka_sink.py",),
    ),
    Mutant(
        "what an epoch deletes has its own fence: blobs of a map",
        "state/maps/target.py",
        "        return position if is_held(epoch_of(found), epoch, self.name) else None\n",
        "        return position\n",
        (_STILL,),
    ),
    Mutant(
        "what an epoch deletes has its own fence: rows beside the ledger",
        "state/tables/sql_target.py",
        "            if not place.apart and not is_held(row.epoch, epoch, self.name):\n",
        "            if False:\n",
        ("tests/state/test_standing_still.py",),
    ),
    Mutant(
        "what an epoch deletes has its own fence: files of an outbox",
        "state/kafka/outbox/target.py",
        "            if not is_held(row.epoch, epoch, self.name):\n",
        "            if False:\n",
        ("tests/state/test_bulk_rows.py",),
    ),
    Mutant(
        "a file that somebody else has deleted keeps no other one from being deleted",
        "state/kafka/bulk/folder.py",
        "    return suppress(FileNotFoundError)\n",
        "    return suppress()\n",
        ("tests/state/test_bulk_rows.py::test_a_file_that_is_gone_keeps_no_other_one_from_being_deleted",),
    ),
    Mutant(
        "nothing is dropped while a divert is held",
        "coordinators/decisions/dropping.py",
        "    if snapshot.decisions:\n",
        "    if False and snapshot.decisions:\n",
        (f"{_DROPPING}::test_while_a_refusal_waits_nothing_is_dropped",),
    ),
    Mutant(
        "the ledger drops nothing while a txid is pinned",
        "coordinators/ledger/rules/decisions.py",
        "    if progress.pinned is not None:\n",
        "    if False and progress.pinned is not None:\n",
        (f"{_LEDGER}::test_while_a_txid_is_pinned_nothing_is_dropped",),
    ),
    Mutant(
        "a state that was dropped is no birth of the topology any more",
        "coordinators/ledger/rules/dropping.py",
        "    left = tuple(birth for birth in births if birth.state != name)\n",
        "    left = tuple(births)\n",
        (f"{_LEDGER}::test_a_drop_takes_a_state_out_of_description_and_births",),
    ),
    Mutant(
        "a reset stores no version that could not start",
        "coordinators/holding/starts.py",
        "    if seen.added.topology or not seen.added.is_something:\n",
        "    if True:\n",
        ("tests/coordinators/test_newer_versions.py",),
    ),
    Mutant(
        "a reset that a person gives looks at the places of a newer version's sinks",
        "trident/managing/resets.py",
        "        check=partial(check_places, compiled, chosen.timeouts),\n",
        "",
        ("tests/coordinators/test_newer_versions.py",),
    ),
    Mutant(
        "a reset that a person gives asks a newer version's streams",
        "trident/managing/resets.py",
        "        spouts=compiled.spouts,\n",
        "",
        ("tests/coordinators/test_newer_versions.py",),
    ),
)
