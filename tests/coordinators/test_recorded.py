"""What is recorded and not written yet, at most once: room, claims, losses and what ends a run, without any thread."""

from __future__ import annotations

import pytest

from trident.base.errors import FatalError, RefusedError, RetryableError
from trident.base.identity import BatchId, Epoch, Owner
from trident.coordinators.levels.recorded import Recorded

_BAD = RefusedError("a constraint")


def batch(txid: int) -> BatchId:
    return BatchId(Owner("payments", "first"), Epoch(1, "token"), txid, txid)


def lose(recorded: Recorded, txid: int, error: BaseException = _BAD, *, missed: str = "") -> tuple[bool, bool]:
    recorded.add(batch(txid))
    if missed:
        recorded.missed(missed)
    return recorded.lose(batch(txid), error)


def write(recorded: Recorded, txid: int, rows: int, *targets: str) -> None:
    recorded.add(batch(txid))
    recorded.claim(batch(txid))
    for target in targets:
        recorded.took(target)
    recorded.written(batch(txid), rows)


def test_there_is_room_for_one_until_rows_are_written_and_then_for_as_many_as_may_be_lost():
    recorded = Recorded(3)
    recorded.add(batch(1))
    assert not recorded.has_room(4)
    recorded.claim(batch(1))
    recorded.written(batch(1), 5)
    for txid in (2, 3, 4, 5):
        assert recorded.has_room(4)
        recorded.add(batch(txid))
    assert not recorded.has_room(4)


def test_a_batch_without_rows_makes_no_room():
    recorded = Recorded(3)
    write(recorded, 1, 0)
    assert not recorded.has_written
    recorded.add(batch(2))
    assert not recorded.has_room(4)


@pytest.mark.parametrize("between", [0, 1, 7])
def test_batches_without_rows_do_not_part_those_that_are_lost(between):
    recorded, txid = Recorded(3), 0
    for _ in range(3):
        assert not recorded.too_many_in_a_row
        lose(recorded, txid := txid + 1)
        for _ in range(between):
            write(recorded, txid := txid + 1, 0)
    assert recorded.too_many_in_a_row == 3
    assert recorded.lost == 3


def test_a_batch_with_rows_parts_them():
    recorded = Recorded(3)
    for txid in range(1, 20, 3):
        lose(recorded, txid)
        lose(recorded, txid + 1)
        write(recorded, txid + 2, 4)
    assert not recorded.too_many_in_a_row


def test_what_one_target_refuses_each_time_is_not_parted_by_what_the_others_take():
    recorded = Recorded(3)
    for txid in (1, 3, 5):
        assert not recorded.too_many_in_a_row
        lose(recorded, txid, missed="alerts")
        write(recorded, txid + 1, 4, "balances")
    assert recorded.too_many_in_a_row == 3


def test_what_a_target_takes_parts_what_it_has_refused():
    recorded = Recorded(3)
    for txid in range(1, 20, 2):
        lose(recorded, txid, missed="alerts")
        write(recorded, txid + 1, 4, "alerts")
    assert not recorded.too_many_in_a_row


def test_losses_of_any_kind_count_together_in_a_row():
    recorded = Recorded(3)
    lose(recorded, 1, RetryableError("a function raised"))
    lose(recorded, 2, missed="alerts")
    lose(recorded, 3, missed="balances")
    assert recorded.too_many_in_a_row == 3


def test_what_was_given_up_is_not_written_and_counts_once():
    recorded = Recorded(3)
    recorded.add(batch(1))
    assert recorded.give_up(batch(1))
    assert (recorded.pending, recorded.lost) == (0, 1)
    with pytest.raises(RetryableError, match="given up"):
        recorded.claim(batch(1))
    assert recorded.lose(batch(1), _BAD) == (False, False)
    assert recorded.lost == 1


def test_what_is_being_written_is_not_given_up():
    recorded = Recorded(3)
    recorded.add(batch(1))
    recorded.claim(batch(1))
    assert not recorded.give_up(batch(1))
    assert (recorded.pending, recorded.processing, recorded.lost) == (1, (), 0)


def test_the_first_error_that_is_no_fault_of_a_batch_ends_the_run():
    recorded, first = Recorded(3), FatalError("no right")
    write(recorded, 1, 1)
    assert lose(recorded, 2) == (True, False)
    assert recorded.broken is None
    assert lose(recorded, 3, first) == (True, True)
    assert lose(recorded, 4, KeyError()) == (True, False)
    assert recorded.broken is first


def test_what_nobody_waits_for_any_more_is_lost():
    recorded = Recorded(3)
    write(recorded, 1, 1)
    for txid in (2, 3):
        recorded.add(batch(txid))
    recorded.leave()
    assert recorded.lost == 2
