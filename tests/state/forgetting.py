"""What every target promises that can be let go of, over any store: what is left refuses whoever wakes up later."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

import pytest

from trident.base.errors import FencedError, MismatchError, TridentError
from trident.base.identity import BatchId, Epoch, Owner
from trident.state.forgetting import Forgettable, forgetting_of
from trident.state.staged import HeldUpdates
from trident.state.target import Target
from trident.testing.state_harness import EPOCH, NEWER, OWNER, batch_of

LATER = Epoch(5, "first.e")
NEXT = Owner("orders", "second-life")
ANOTHER = Owner("orders", "another-life")


@dataclass
class Forgotten:
    """A target whose topology has applied a batch, and where it is read past it."""

    open: Callable[[], Target]
    updates: Callable[[], HeldUpdates]
    read: Callable[[], object]
    """What is there, of any kind that can be compared; None where there is no table any more."""

    def born(self) -> Target:
        """Return it as it is before its first batch."""
        target = self.open()
        target.prepare()
        target.raise_fence(OWNER, EPOCH)
        target.register(OWNER, EPOCH, 0)
        return target

    def begin(self) -> Target:
        """Return it with one batch."""
        target = self.born()
        self.apply(target, batch_of(1))
        return target

    def apply(self, target: Target, batch: BatchId) -> None:
        target.apply(batch, target.stage(batch, self.updates()))

    def forget(self, drops: bool, epoch: Epoch = NEWER) -> Target:
        """Do what a person's command does, under an epoch above the old owner's."""
        target = self.open()
        target.prepare()
        target.raise_fence(OWNER, epoch)
        forgetting_of(target).check_forget(OWNER, epoch, drops)
        forgetting_of(target).forget(OWNER, epoch, drops)
        return target

    def wake_up(self, old: Target) -> list[str]:
        """Let an old owner do all that it may have been about to do; returns what was not refused."""
        forgetting = forgetting_of(old)
        calls: dict[str, Callable[[], object]] = {
            "apply": lambda: self.apply(old, batch_of(2)),
            "register": lambda: old.register(OWNER, EPOCH, 0),
            "clean up": lambda: old.clean_up(OWNER, EPOCH, 1),
            "forget what is staged": lambda: old.forget_staging(OWNER, EPOCH),
            "forget": lambda: forgetting.forget(OWNER, EPOCH, True),
        }
        with suppress(TridentError):
            old.raise_fence(OWNER, EPOCH)  # beside the ledger that is the ledger's affair
        passed = []
        for name, call in calls.items():
            try:
                call()
            except TridentError:
                continue
            passed.append(name)
        return passed


class ForgettingContract:
    """A target that was let go of stands nowhere, and its old owner comes no further."""

    sinks = False
    """Whether what it has written stays, whatever is said of tables."""
    idle: frozenset[str] = frozenset()
    """What does nothing to one that stands nowhere, and need not be refused."""

    @pytest.mark.parametrize("drops", [False, True])
    def test_it_stands_nowhere_and_holds_what_a_person_said(self, place: Forgotten, drops: bool) -> None:
        place.begin()
        before = place.read()
        assert not forgetting_of(place.open()).is_let_go(OWNER)
        target = place.forget(drops)
        assert forgetting_of(place.open()).is_let_go(OWNER)
        assert target.position("orders") is None
        assert place.read() == (before if self.sinks or not drops else None)
        for _ in range(2):
            forgetting_of(target).forget(OWNER, NEWER, drops)

    @pytest.mark.parametrize("drops", [False, True])
    def test_trying_it_changes_nothing(self, place: Forgotten, drops: bool) -> None:
        old = place.begin()
        before = place.read()
        forgetting_of(old).check_forget(OWNER, EPOCH, drops)
        assert place.read() == before
        place.apply(old, batch_of(2))

    @pytest.mark.parametrize("drops", [False, True])
    def test_an_old_owner_that_wakes_up_finds_nothing_to_write_to(self, place: Forgotten, drops: bool) -> None:
        old = place.begin()
        target = place.forget(drops)
        left = place.read()
        assert self.idle.issuperset(place.wake_up(old))
        assert (place.read(), target.position("orders")) == (left, None)

    def test_an_old_owner_does_not_meet_the_topology_that_has_begun_anew(self, place: Forgotten) -> None:
        """Its numbers would fit: the new one has the old name, and its first txid may be the old owner's next."""
        old = place.begin()
        place.forget(drops=True)
        new = place.open()
        new.prepare()
        new.raise_fence(NEXT, LATER)
        new.register(NEXT, LATER, 1)
        before = place.read()
        assert self.idle.issuperset(place.wake_up(old))
        assert (place.read(), new.position("orders")) == (before, place.open().position("orders"))
        place.apply(new, BatchId(NEXT, LATER, 2, 2))
        assert place.read() != before

    def test_an_old_owner_does_not_take_back_what_nobody_has_taken_since(self, place: Forgotten) -> None:
        """It was on its way to be born when it stood still: it has no position whose loss would stop it."""
        old = place.open()
        old.prepare()
        old.raise_fence(OWNER, EPOCH)
        place.born()
        place.forget(drops=False)
        with pytest.raises(FencedError):
            old.register(OWNER, EPOCH, 0)
        assert old.position("orders") is None

    def test_another_life_is_not_let_go_of(self, place: Forgotten) -> None:
        old = place.begin()
        before, forgetting = place.read(), forgetting_of(old)
        for act in (Forgettable.check_forget, Forgettable.forget):
            with pytest.raises(MismatchError):
                getattr(forgetting, act.__name__)(ANOTHER, EPOCH, True)
        assert place.read() == before
        place.apply(old, batch_of(2))
