"""A life that a test lets end: nothing of it is written afterwards, from whichever thread."""

from __future__ import annotations

from datetime import timedelta

import pytest

from trident.base.crash_points import CrashPoint
from trident.base.errors import ConfigurationError
from trident.coordinators.ledger import MemoryLedger
from trident.coordinators.registered import Lease
from trident.state.memory.database import MemoryDatabase
from trident.testing import Death
from trident.testing.lives import CoordinatorDiedError, Life, MortalDatabase, MortalLedger


def test_a_life_without_a_death_passes_everything_and_counts_it() -> None:
    life = Life()
    for point in (CrashPoint.AFTER_PLAN, CrashPoint.AFTER_STAGING, CrashPoint.AFTER_STAGING):
        life.reach(point, 1)
    assert life.passed == (
        Death(CrashPoint.AFTER_PLAN),
        Death(CrashPoint.AFTER_STAGING),
        Death(CrashPoint.AFTER_STAGING, time=2),
    )
    assert not life.is_dead


def test_a_life_ends_where_it_is_to_and_comes_to_nothing_more() -> None:
    life = Life(Death("after a state's updates are staged", time=2))
    life.reach(CrashPoint.AFTER_STAGING, 1)
    with pytest.raises(CoordinatorDiedError):
        life.reach(CrashPoint.AFTER_STAGING, 1)
    assert life.is_dead
    with pytest.raises(CoordinatorDiedError):
        life.reach(CrashPoint.AFTER_PIN, 1)
    assert life.passed[-1] == Death(CrashPoint.AFTER_STAGING, time=2)


def test_what_is_sent_to_take_over_is_no_border_of_a_batch() -> None:
    life = Life(Death(CrashPoint.AFTER_SESSION))
    life.reach(CrashPoint.AFTER_FENCE, 0)
    life.reach(CrashPoint.AFTER_SESSION, 0)
    life.reach(CrashPoint.READING, 0)
    assert life.passed == (Death(CrashPoint.READING),)
    with pytest.raises(CoordinatorDiedError):
        life.reach(CrashPoint.AFTER_SESSION, 1)


def test_a_take_over_can_be_died_in() -> None:
    life = Life(Death(CrashPoint.AFTER_FENCE, time=2))
    life.reach(CrashPoint.AFTER_FENCE, 0)
    with pytest.raises(CoordinatorDiedError):
        life.reach(CrashPoint.AFTER_FENCE, 0)


def test_what_happens_every_second_is_no_border_to_die_at() -> None:
    life = Life()
    life.reach(CrashPoint.BEFORE_RENEWAL, 0)
    assert life.passed == ()
    with pytest.raises(ConfigurationError, match="point must be a border that a batch comes to"):
        Death(CrashPoint.AFTER_RENEWAL)


def test_a_transaction_that_a_death_meets_is_undone_and_so_is_every_later_one() -> None:
    kept, life = MemoryDatabase(), Life(Death(CrashPoint.AFTER_PIN))
    mortal = MortalDatabase(kept, life)
    with mortal.transaction() as transaction:
        transaction.table("t")["a"] = 1

    def meet_the_death() -> None:
        with mortal.transaction() as transaction:
            transaction.table("t")["a"] = 2
            with pytest.raises(CoordinatorDiedError):  # another thread's
                life.reach(CrashPoint.AFTER_PIN, 1)

    for _ in range(2):
        with pytest.raises(CoordinatorDiedError):
            meet_the_death()
    with MortalDatabase(kept, Life()).transaction() as transaction:
        assert transaction.table("t") == {"a": 1}


class _DiesMeanwhile(Life):
    """Comes to its death, in another thread, after a transaction has begun and before it ends."""

    _asked = 0

    def require_alive(self) -> None:
        super().require_alive()
        self._asked += 1
        if self._asked == 1:
            with pytest.raises(CoordinatorDiedError):
                self.reach(CrashPoint.AFTER_PIN, 1)


def test_a_heartbeat_that_a_death_meets_ends_in_silence() -> None:
    kept = MemoryDatabase()
    epoch = MemoryLedger(database=kept).acquire("t", Lease("it", timedelta(hours=1))).epoch
    mortal = MortalLedger(database=MortalDatabase(kept, _DiesMeanwhile(Death(CrashPoint.AFTER_PIN))))
    assert not mortal.renew("t", epoch)  # it dies while it is being written
    assert not mortal.renew("t", epoch)
