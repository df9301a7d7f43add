"""A random life of a state, step by step beside a perfect model: batches, crashes, take-overs, resets, mistakes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import cast

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from tests.state.model import Key, Model, Values
from trident.base.errors import FencedError, MismatchError, RefusedError
from trident.base.identity import BatchId, Epoch, Owner
from trident.state.capabilities import CannotUndoError
from trident.state.layout import KeyColumn, Merge, StateKind, StateLayout, ValueColumn
from trident.state.staged import HeldUpdates, StagedUpdates
from trident.state.target import Target
from trident.testing import StateHarness
from trident.testing.state_harness import held, resetting, undoing

LAYOUT = StateLayout(
    (KeyColumn("key", pa.string()),),
    (
        ValueColumn("added", pa.int16(), Merge.ADD),
        ValueColumn("least", pa.int64(), Merge.LEAST),
        ValueColumn("most", pa.int64(), Merge.GREATEST),
        ValueColumn("last", pa.int64(), Merge.REPLACE),
    ),
)
TOP = 2**15 - 1
KEYS = [None, "", "ann", "bob", "cyd", "\u00e9"]
SMALL = st.none() | st.integers(-50, 50)
ROWS = st.dictionaries(st.sampled_from(KEYS), st.tuples(SMALL, SMALL, SMALL, SMALL), max_size=4)
LONG_LIFE = settings(
    max_examples=30,
    stateful_step_count=30,
    deadline=None,
    report_multiple_bugs=False,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)


class Crash(BaseException):
    """The process ends here; nobody catches it but the test."""


class Bench(ABC):
    """A harness and what the machine needs beside it."""

    harness: StateHarness
    apart = True
    """Whether the state has a fence and transactions of its own; beside a ledger it has neither."""
    atomic = True
    """Whether a crash leaves all of a batch or nothing."""

    def commit(self, store: Target, batch: BatchId, updates: StagedUpdates) -> None:
        if self.apart:
            store.apply(batch, updates)
        else:
            self.harness.commit(store, batch, updates)

    @abstractmethod
    def crash(self, store: Target, batch: BatchId, updates: StagedUpdates, after: int) -> bool:
        """Apply, and abandon it in the middle; returns False when it was through before it could be."""

    @contextmanager
    def dying(self, after: int) -> Iterator[None]:
        """Let the process die inside the block after so many writes, where the store is not atomic."""
        yield

    def close(self) -> None:
        """Let go of connections; there are none unless a bench says so."""
        return


@dataclass(frozen=True)
class Staged:
    txid: int
    attempt: int
    rows: Mapping[Key, Values]
    updates: StagedUpdates


def agrees(shown: Mapping[str, object] | None, expected: Mapping[str, object] | None) -> bool:
    """Compare what a store shows, perhaps with more columns, with what it should."""
    if shown is None or expected is None:
        return shown is expected
    return {name: shown.get(name) for name in expected} == expected


def updates_of(rows: Mapping[Key, Values]) -> HeldUpdates:
    return held(LAYOUT, *[(key, *values) for key, values in rows.items()])


class StateMachine(RuleBasedStateMachine):
    """One topology's state; `half` is a pinned batch whose apply was cut off in a store that is not atomic."""

    def __init__(self, kind: StateKind, make: Callable[[], Bench]) -> None:
        super().__init__()
        self.bench = make()
        self.kind = kind
        self.model = Model(kind)
        self.epoch = Epoch(1, "token 1")
        self.attempts = 0
        self.staged: list[Staged] = []
        self.last: Staged | None = None
        self.can_undo_last = False
        self.half: Staged | None = None
        self.store = self.opened()
        self.store.raise_fence(self.owner, self.epoch)
        self.store.register(self.owner, self.epoch, 0)

    def teardown(self) -> None:
        self.bench.close()

    @property
    def owner(self) -> Owner:
        return Owner("orders", f"life {self.model.incarnation}")

    @property
    def whole(self) -> bool:
        return self.half is None

    def opened(self) -> Target:
        store = self.bench.harness.open(LAYOUT, self.kind)
        store.prepare()
        return store

    def batch(self, txid: int, attempt: int, epoch: Epoch | None = None) -> BatchId:
        return BatchId(self.owner, epoch or self.epoch, txid, attempt)

    def stage(self, txid: int, rows: Mapping[Key, Values]) -> Staged:
        self.attempts += 1
        updates = self.store.stage(self.batch(txid, self.attempts), updates_of(rows))
        return Staged(txid, self.attempts, rows, updates)

    def commit(self, item: Staged) -> None:
        self.bench.commit(self.store, self.batch(item.txid, item.attempt), item.updates)

    def is_in(self, item: Staged) -> None:
        self.model.apply(item.txid, item.attempt, item.rows)
        self.last = item
        self.can_undo_last = self.kind is StateKind.OPAQUE and self.bench.apart

    @precondition(lambda self: self.whole)
    @rule(rows=ROWS)
    def an_attempt_is_staged(self, rows: Mapping[Key, Values]) -> None:
        self.staged.append(self.stage(self.model.txid + 1, rows))

    @precondition(lambda self: self.whole and self.staged)
    @rule(data=st.data())
    def one_of_the_staged_attempts_is_applied(self, data: st.DataObject) -> None:
        item = data.draw(st.sampled_from(self.staged))
        if item.txid == self.model.txid + 1:
            self.commit(item)
            self.is_in(item)
        elif (item.txid, item.attempt) == (self.model.txid, self.model.attempt):  # it is in: skipped
            self.commit(item)
        else:
            with pytest.raises(MismatchError):
                self.commit(item)

    @precondition(lambda self: self.whole)
    @rule(rows=ROWS)
    def the_next_batch_is_staged_and_applied(self, rows: Mapping[Key, Values]) -> None:
        item = self.stage(self.model.txid + 1, rows)
        self.commit(item)
        self.is_in(item)

    @precondition(lambda self: self.whole and self.last is not None)
    @rule()
    def the_last_batch_is_applied_again(self) -> None:
        assert self.last is not None
        self.commit(self.last)

    @precondition(lambda self: self.whole)
    @rule(rows=ROWS, ahead=st.integers(2, 4))
    def a_gap_is_refused(self, rows: Mapping[Key, Values], ahead: int) -> None:
        item = self.stage(self.model.txid + ahead, rows)
        with pytest.raises(MismatchError):
            self.commit(item)

    @precondition(lambda self: self.whole and self.growing())
    @rule(data=st.data(), other=st.sampled_from(KEYS))
    def an_overflow_is_refused(self, data: st.DataObject, other: Key) -> None:
        key = data.draw(st.sampled_from(self.growing()))
        item = self.stage(self.model.txid + 1, {other: (1, 1, 1, 1), key: (TOP, 0, 0, 0)})
        with pytest.raises(RefusedError):
            self.commit(item)

    def growing(self) -> list[Key]:
        """Keys above zero: one more time the largest number does not fit."""
        rows = self.model.rows()
        return [key for key in KEYS if key in rows and (rows[key]["added"] or 0) > 0]  # type: ignore[operator]

    @precondition(lambda self: self.whole)
    @rule(rows=ROWS, after=st.integers(0, 5), apply_again=st.booleans())
    def a_process_dies_while_it_applies(self, rows: Mapping[Key, Values], after: int, apply_again: bool) -> None:
        item = self.stage(self.model.txid + 1, rows)
        before = self.found()
        if not self.bench.crash(self.store, self.batch(item.txid, item.attempt), item.updates, after):
            self.is_in(item)
        elif self.bench.atomic:
            self.staged.append(item)
        else:
            self.note_what_was_put(item, before)
        self.store = self.opened()
        if apply_again and not self.whole:
            self.the_cut_off_batch_is_completed()

    def note_what_was_put(self, item: Staged, before: Mapping[Key, object]) -> None:
        self.half = item
        self.can_undo_last = False  # the next txid is pinned, so the last one is done
        if self.kind is StateKind.NON_TRANSACTIONAL:
            after = self.found()
            put = [key for key in item.rows if after.get(key) != before.get(key)]
            self.model.repeat(item.txid, put, item.rows)

    @precondition(lambda self: not self.whole)
    @rule()
    def the_cut_off_batch_is_completed(self) -> None:
        assert self.half is not None
        item, self.half = self.half, None
        self.commit(item)
        self.is_in(item)

    @precondition(lambda self: self.whole and self.can_undo_last)
    @rule(after=st.integers(0, 6))
    def a_person_undoes_the_last_batch(self, after: int) -> None:
        assert self.last is not None
        if self.undo(self.last, after, self.last.rows):
            self.model.undo(self.last.rows)
            self.last, self.can_undo_last = None, False

    @precondition(lambda self: not self.whole and self.kind is StateKind.OPAQUE)
    @rule(after=st.integers(0, 6))
    def a_person_undoes_the_batch_that_was_cut_off(self, after: int) -> None:
        """The state never had it as a whole, so it stays where it stands; keys that were put are brought back."""
        assert self.half is not None
        found = self.found()
        put = [key for key in self.half.rows if key in found and found[key]["txid"] == self.half.txid]
        if self.undo(self.half, after, put):
            self.model.bring_back(put, self.half.txid)
            self.half = None

    def undo(self, item: Staged, after: int, changed: Iterable[Key]) -> bool:
        """Take over and undo, cut off and done again; returns False where the store can't take keys away."""
        self.a_successor_takes_over(1)
        batch = self.batch(item.txid, item.attempt)
        before = self.model.attempt_before if item is self.last else self.model.attempt
        if not self.bench.harness.can_remove and any(self.model.is_new(key, item.txid) for key in changed):
            with pytest.raises(CannotUndoError):
                undoing(self.store).undo(batch, before, item.updates)
            return False
        with self.bench.dying(after):
            undoing(self.store).undo(batch, before, item.updates)
        self.store = self.opened()
        undoing(self.store).undo(batch, before, item.updates)
        return True

    @rule(skip=st.integers(1, 3))
    def a_successor_takes_over(self, skip: int) -> None:
        self.epoch = Epoch(self.epoch.number + skip, f"token {self.epoch.number + skip}")
        self.store = self.opened()
        self.store.raise_fence(self.owner, self.epoch)
        self.store.raise_fence(self.owner, self.epoch)
        position = self.store.position("orders")
        assert position is not None
        assert position.txid == self.model.txid

    @precondition(lambda self: self.bench.apart)
    @rule(rows=ROWS, stranger=st.booleans())
    def an_old_owner_is_fenced(self, rows: Mapping[Key, Values], stranger: bool) -> None:
        """`stranger` has the number of the epoch that holds the state, but not its token."""
        old = Epoch(self.epoch.number if stranger else self.epoch.number - 1, "another token")
        zombie = self.opened()
        batch = self.batch(self.model.txid + 1, self.attempts + 1, old)
        with pytest.raises(FencedError):
            zombie.raise_fence(self.owner, old)
        with pytest.raises(FencedError):
            zombie.apply(batch, zombie.stage(batch, updates_of(rows)))
        for change in (resetting(zombie).clear, resetting(zombie).adopt):
            with pytest.raises(FencedError):
                change(Owner("orders", "a zombie's life"), old, self.model.txid)
        with pytest.raises(FencedError):
            zombie.clean_up(self.owner, old, self.model.txid)

    @precondition(lambda self: self.whole)
    @rule(back=st.integers(0, 2))
    def what_is_done_is_cleaned_up(self, back: int) -> None:
        self.store.clean_up(self.owner, self.epoch, self.model.txid - back)
        if back == 0:  # what is done can't be undone any more
            self.can_undo_last = False

    @precondition(lambda self: self.whole)
    @rule(ahead=st.integers(0, 3), keep=st.booleans(), dies=st.booleans())
    def a_person_resets_it(self, ahead: int, keep: bool, dies: bool) -> None:
        if not keep and not self.bench.harness.can_clear:
            return
        self.a_successor_takes_over(1)
        birth = self.model.txid + ahead
        self.model.reborn(birth, keep=keep)
        self.staged, self.last, self.can_undo_last = [], None, False
        for _ in range(2 if dies else 1):  # cut off after it: the next coordinator finishes the same decision
            (resetting(self.store).adopt if keep else resetting(self.store).clear)(self.owner, self.epoch, birth)

    @precondition(lambda self: self.whole)
    @rule()
    def registering_again_changes_nothing(self) -> None:
        self.store.register(self.owner, self.epoch, self.model.birth)

    @rule()
    def another_incarnation_is_refused(self) -> None:
        stranger = replace(self.owner, incarnation="somebody else's")
        with pytest.raises(MismatchError):
            self.store.register(stranger, self.epoch, 0)

    def found(self) -> dict[Key, dict[str, object]]:
        rows = self.bench.harness.rows(LAYOUT)
        by_key = {row["key"]: row for row in rows}
        assert len(by_key) == len(rows), "a key is there twice"
        return by_key  # type: ignore[return-value]

    @invariant()
    def every_value_is_as_it_should_be(self) -> None:
        found, expected = self.found(), self.model.rows()
        if self.half is not None:
            self.only_keys_of_the_cut_off_batch_differ(found, expected)
            return
        assert found.keys() == expected.keys()
        for key, row in expected.items():
            assert agrees(found[key], row), f"{key!r}: {found[key]} is not {row}"

    def only_keys_of_the_cut_off_batch_differ(
        self, found: Mapping[Key, dict[str, object]], before: Mapping[Key, dict[str, object]]
    ) -> None:
        """A per-key store shows half a batch: each key has all of it or nothing."""
        assert self.half is not None
        if self.kind is StateKind.NON_TRANSACTIONAL:
            after = before
        else:
            through = self.model.copy()
            through.apply(self.half.txid, self.half.attempt, self.half.rows)
            after = through.rows()
        for key in {*found, *before}:
            shown = found.get(key)
            choices = [rows.get(key) for rows in (before, after)]
            assert any(agrees(shown, row) for row in choices), f"{key!r}: {shown} is none of {choices}"

    @invariant()
    def it_stands_where_it_should(self) -> None:
        position = self.store.position("orders")
        assert position is not None
        found = (position.owner, position.txid, position.attempt, position.birth_txid)
        assert found == (self.owner, self.model.txid, self.model.attempt, self.model.birth)


def live_long(
    kind: StateKind, make: Callable[[], Bench], examples: int = 30, steps: int = 30, shrink: bool = True
) -> None:
    """Run lives of the state against the model; a failing one is shrunk and printed as a program."""
    phases = [phase for phase in Phase if shrink or phase in (Phase.generate, Phase.reuse)]
    chosen = settings(LONG_LIFE, max_examples=examples, stateful_step_count=steps, phases=phases)
    # any callable that makes one will do
    factory = cast("type[RuleBasedStateMachine]", lambda: StateMachine(kind, make))
    run_state_machine_as_test(factory, settings=chosen)
