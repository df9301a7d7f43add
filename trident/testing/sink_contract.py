# ruff: noqa: D102, S106 - the names of the tests are sentences, and a fencing token is no password
"""The contract of a sink as a suite of tests; public as `trident.testing`."""

from __future__ import annotations

import dataclasses
from contextlib import suppress
from functools import partial

import pytest

from trident.base.crash_points import CrashPoint, armed
from trident.base.errors import FencedError, MismatchError, OutcomeUnknownError, RetryableError
from trident.base.identity import Owner
from trident.state.capabilities import CannotUndoError
from trident.state.rows import json_rows
from trident.state.staged import HeldUpdates, WrittenUpdates
from trident.testing.sink_harness import SinkHarness, begun, send, staged
from trident.testing.state_harness import EPOCH, NEWER, OWNER, batch_of, diverting, resetting, undoing

SECOND_LIFE = Owner("orders", "second-life")


class _CutOffError(Exception):
    """Stands for the death of a process in the middle of what it does."""


def _cut_off(point: CrashPoint, reached: CrashPoint, _: int) -> None:
    if reached is point:
        raise _CutOffError


class SinkContract:
    """What every sink promises; subclass it and define the fixture `harness`.

    What a sink can't do at all (its capabilities leave it out) is not asked of it.
    """

    def test_batches_leave_in_the_order_of_their_txids(self, harness: SinkHarness) -> None:
        sink = begun(harness)
        send(harness, sink, 1, "a", "b")
        send(harness, sink, 2, "c")
        assert harness.words() == ["a", "b", "c"]
        position = sink.position("orders")
        assert position is not None
        assert (position.owner, position.txid, position.attempt, position.birth_txid) == (OWNER, 2, 20, 0)

    def test_the_same_batch_again_is_skipped(self, harness: SinkHarness) -> None:
        sink = begun(harness)
        updates = staged(harness, sink, batch_of(1), "a")
        for _ in range(3):
            sink.apply(batch_of(1), updates)
        harness.open().apply(batch_of(1), updates)
        assert harness.words() == ["a"]

    def test_a_skipped_batch_does_not_need_its_staged_rows(self, harness: SinkHarness) -> None:
        sink = begun(harness)
        updates = staged(harness, sink, batch_of(1), "a")
        sink.apply(batch_of(1), updates)
        sink.clean_up(OWNER, EPOCH, 1)
        sink.apply(batch_of(1), updates)
        assert harness.words() == ["a"]

    def test_all_that_is_staged_can_be_forgotten(self, harness: SinkHarness) -> None:
        sink = begun(harness)
        sink.apply(batch_of(1), staged(harness, sink, batch_of(1), "a"))
        updates = staged(harness, sink, batch_of(2), "b")
        for _ in range(2):
            sink.forget_staging(OWNER, EPOCH)
        if isinstance(updates, WrittenUpdates):
            with pytest.raises(MismatchError):
                sink.apply(batch_of(2), updates)
        assert harness.words() == ["a"]

    def test_what_a_successor_has_staged_is_not_forgotten(self, harness: SinkHarness) -> None:
        sink = begun(harness)
        sink.apply(batch_of(1), staged(harness, sink, batch_of(1), "a"))
        successor = harness.open()
        successor.prepare()
        successor.raise_fence(OWNER, NEWER)
        later = batch_of(2, epoch=NEWER)
        updates = staged(harness, successor, later, "b")
        for forget in (sink.forget_staging, partial(sink.clean_up, done=2)):
            with pytest.raises(FencedError):
                forget(OWNER, EPOCH)
        successor.apply(later, updates)
        assert harness.words() == ["a", "b"]

    def test_an_epoch_that_holds_no_fence_deletes_nothing(self, harness: SinkHarness) -> None:
        """A store that was put back to an earlier moment has an older epoch than whoever lived on."""
        sink = begun(harness)
        updates = staged(harness, sink, batch_of(1), "a")
        with pytest.raises(MismatchError):
            sink.forget_staging(OWNER, NEWER)
        with suppress(MismatchError):
            sink.clean_up(OWNER, NEWER, 1)
        sink.apply(batch_of(1), updates)
        assert harness.words() == ["a"]

    def test_what_is_not_sent_is_not_cleaned_up(self, harness: SinkHarness) -> None:
        sink = begun(harness)
        updates = staged(harness, sink, batch_of(1), "a")
        sink.clean_up(OWNER, EPOCH, 1)
        sink.apply(batch_of(1), updates)
        assert harness.words() == ["a"]

    @pytest.mark.parametrize("txid", [1, 3])
    def test_what_does_not_follow_is_refused(self, harness: SinkHarness, txid: int) -> None:
        sink = begun(harness)
        send(harness, sink, 1, "a")
        other = batch_of(txid, attempt=99)
        with pytest.raises(MismatchError, match="stands at txid 1 attempt 10"):
            sink.apply(other, staged(harness, sink, other, "b"))
        assert harness.words() == ["a"]

    def test_another_incarnation_is_refused(self, harness: SinkHarness) -> None:
        sink = begun(harness)
        batch = batch_of(1, owner=SECOND_LIFE)
        with pytest.raises(MismatchError, match="first-life"):
            sink.apply(batch, staged(harness, sink, batch, "a"))
        with pytest.raises(MismatchError, match="first-life"):
            sink.register(SECOND_LIFE, EPOCH, 0)
        assert harness.words() == []

    def test_a_batch_without_rows_moves_the_position(self, harness: SinkHarness) -> None:
        sink = begun(harness)
        send(harness, sink, 1)
        send(harness, sink, 2, "a")
        assert harness.words() == ["a"]

    def test_a_sink_that_was_never_registered_takes_nothing(self, harness: SinkHarness) -> None:
        sink = harness.open()
        assert sink.look("orders") is None
        sink.prepare()
        sink.raise_fence(OWNER, EPOCH)
        assert sink.position("orders") is None
        with pytest.raises(MismatchError, match="never been registered"):
            send(harness, sink, 1, "a")
        assert harness.words() == []

    def test_beginning_again_changes_nothing(self, harness: SinkHarness) -> None:
        send(harness, begun(harness), 1, "a")
        again = begun(harness)
        position = again.position("orders")
        assert position is not None
        assert position == again.look("orders")
        assert (position.txid, position.attempt) == (1, 10)
        assert harness.words() == ["a"]

    def test_a_birth_txid_is_where_it_starts(self, harness: SinkHarness) -> None:
        sink = begun(harness, birth_txid=41)
        send(harness, sink, 42, "a")
        position = sink.position("orders")
        assert position is not None
        assert (position.txid, position.birth_txid) == (42, 41)

    def test_an_old_epoch_sends_nothing(self, harness: SinkHarness) -> None:
        sink = begun(harness)
        updates = staged(harness, sink, batch_of(1), "a")
        successor = harness.open()
        successor.prepare()
        successor.raise_fence(OWNER, NEWER)
        calls = (
            partial(sink.apply, batch_of(1), updates),
            partial(sink.raise_fence, OWNER, EPOCH),
            partial(sink.clean_up, OWNER, EPOCH, 1),
            partial(sink.register, OWNER, EPOCH, 0),
        )
        for call in calls:
            with pytest.raises(FencedError):
                call()
        assert harness.words() == []
        newer = batch_of(1, epoch=NEWER)
        successor.apply(newer, staged(harness, successor, newer, "b"))
        assert harness.words() == ["b"]

    def test_two_epochs_of_one_number_are_told_apart(self, harness: SinkHarness) -> None:
        sink = begun(harness)
        with pytest.raises(FencedError):
            sink.raise_fence(OWNER, dataclasses.replace(EPOCH, token="other"))

    @pytest.mark.parametrize("by", ["itself", "its successor"])
    def test_what_was_cut_off_is_sent_once(self, harness: SinkHarness, by: str) -> None:
        sink, epoch, sent = begun(harness), EPOCH, list[str]()
        for txid, point in enumerate(harness.points, 1):
            batch = batch_of(txid, epoch=epoch)
            updates = staged(harness, sink, batch, f"{txid}a", f"{txid}b")
            with armed(partial(_cut_off, point)), pytest.raises(_CutOffError):
                sink.apply(batch, updates)
            if by == "its successor":
                epoch = dataclasses.replace(epoch, number=epoch.number + 1)
                sink = harness.open()
                sink.prepare()
                sink.raise_fence(OWNER, epoch)
            sink.apply(batch_of(txid, epoch=epoch), updates)
            sent += [f"{txid}a", f"{txid}b"]
            assert harness.words() == sent

    def test_what_was_sent_can_not_be_undone(self, harness: SinkHarness) -> None:
        sink = begun(harness)
        updates = staged(harness, sink, batch_of(1), "a")
        sink.apply(batch_of(1), updates)
        with pytest.raises(CannotUndoError, match="can't be taken back"):
            undoing(sink).check_undo(batch_of(1), updates)
        with pytest.raises(CannotUndoError, match="can't be taken back"):
            undoing(sink).undo(batch_of(1), 0, updates)
        assert harness.words() == ["a"]

    def test_what_was_not_sent_is_undone(self, harness: SinkHarness) -> None:
        sink = begun(harness)
        send(harness, sink, 1, "a")
        updates = staged(harness, sink, batch_of(2), "b")
        undoing(sink).check_undo(batch_of(2), updates)
        undoing(sink).undo(batch_of(2), 10, updates)
        other = batch_of(2, attempt=21)
        sink.apply(other, staged(harness, sink, other, "c"))
        assert harness.words() == ["a", "c"]

    def test_a_batch_without_rows_is_undone(self, harness: SinkHarness) -> None:
        sink = begun(harness)
        send(harness, sink, 1, "a")
        updates = staged(harness, sink, batch_of(2))
        sink.apply(batch_of(2), updates)
        undoing(sink).check_undo(batch_of(2), updates)
        for _ in range(2):
            undoing(sink).undo(batch_of(2), 10, updates)
        position = sink.position("orders")
        assert position is not None
        assert (position.txid, position.attempt) == (1, 10)

    @pytest.mark.parametrize("states", ["clear", "adopt"])
    def test_a_new_life_begins_behind_what_was_sent(self, harness: SinkHarness, states: str) -> None:
        sink = begun(harness)
        send(harness, sink, 1, "a")
        sink.raise_fence(OWNER, NEWER)
        resetting(sink).check_clear("orders")
        assert resetting(sink).check_adopt("orders") == 1
        follow = resetting(sink).clear if states == "clear" else resetting(sink).adopt
        with pytest.raises(FencedError):
            follow(SECOND_LIFE, EPOCH, 7)
        follow(SECOND_LIFE, NEWER, 7)
        batch = batch_of(8, epoch=NEWER, owner=SECOND_LIFE)
        sink.apply(batch, staged(harness, sink, batch, "b"))
        follow(SECOND_LIFE, NEWER, 7)
        position = sink.position("orders")
        assert position is not None
        assert (position.owner, position.txid, position.birth_txid) == (SECOND_LIFE, 8, 7)
        assert harness.words() == ["a", "b"]

    def test_staged_rows_can_be_read_back(self, harness: SinkHarness) -> None:
        sink = begun(harness)
        held = HeldUpdates(harness.rows("a", "b"))
        updates = harness.stage(sink, batch_of(1), held.rows)
        found = diverting(sink).staged_rows(batch_of(1), updates)
        assert found.to_pylist() == diverting(sink).staged_rows(batch_of(1), held).to_pylist()
        assert len(json_rows(found)) == 2
        assert diverting(sink).staged_rows(batch_of(2), staged(harness, sink, batch_of(2))).num_rows == 0
        if isinstance(updates, WrittenUpdates):  # what is held is its own proof
            with pytest.raises(MismatchError):
                diverting(sink).staged_rows(batch_of(1, attempt=9), updates)


class SessionSinkContract(SinkContract):
    """What a sink promises besides that sends in sessions, the newest of which ends all older ones."""

    def test_who_was_overtaken_in_the_middle_sends_nothing(self, harness: SinkHarness) -> None:
        sink, successor = begun(harness), harness.open()
        updates = staged(harness, sink, batch_of(1), "a")
        successor.prepare()
        overtaken = False

        def overtake(reached: CrashPoint, _: int) -> None:
            nonlocal overtaken
            if reached is CrashPoint.BEFORE_END_OF_TRANSACTION and not overtaken:
                overtaken = True
                successor.raise_fence(OWNER, NEWER)

        with armed(overtake), pytest.raises((RetryableError, OutcomeUnknownError)):
            sink.apply(batch_of(1), updates)
        with pytest.raises(FencedError):
            sink.apply(batch_of(1), updates)
        assert harness.words() == []
        successor.apply(batch_of(1, epoch=NEWER), updates)
        assert harness.words() == ["a"]
