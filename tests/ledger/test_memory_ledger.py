"""The ledger in memory keeps the contract."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from tests.ledger.contract import LedgerContract
from tests.ledger.making import commit_of, pin_of, started
from trident.base.errors import RefusedError
from trident.base.timeouts import DEFAULT_TIMEOUTS
from trident.coordinators.ledger import Ledger, MemoryLedger
from trident.state.memory.database import MemoryDatabase, MemoryTransaction


class SteppedClock:
    """A clock that stands still until it is told to go."""

    def __init__(self) -> None:
        self.seconds = 100.0

    def monotonic(self) -> float:
        return self.seconds

    def now(self) -> datetime:
        return datetime(2024, 1, 1, tzinfo=UTC) + timedelta(seconds=self.seconds)


class TestMemoryLedger(LedgerContract):
    @pytest.fixture
    def clock(self) -> SteppedClock:
        self._clock = SteppedClock()
        return self._clock

    @pytest.fixture
    def ledger(self, clock: SteppedClock) -> MemoryLedger:
        return MemoryLedger(clock)

    def lapse(self, ledger: object, seconds: float) -> None:
        self._clock.seconds += seconds

    def wait(self, seconds: float) -> None:
        self._clock.seconds += seconds


def test_it_is_a_ledger() -> None:
    ledger: Ledger = MemoryLedger()
    ledger.open(DEFAULT_TIMEOUTS)
    ledger.close()


def test_a_refused_commit_takes_back_what_states_wrote() -> None:
    ledger = MemoryLedger()
    run = started(ledger)
    plan = run.plan()

    def write(transaction: object) -> None:
        assert isinstance(transaction, MemoryTransaction)
        transaction.table("state")["key"] = 1

    def refuse(_: object) -> None:
        raise RefusedError("no")

    with pytest.raises(RefusedError):
        ledger.commit_together(run.owner, run.epoch, pin_of(plan), commit_of(plan), [write], [refuse])
    with ledger.database.transaction() as transaction:
        assert transaction.table("state") == {}


def test_ids_and_memory_can_be_given() -> None:
    numbers = iter(range(10))
    database = MemoryDatabase()
    ledger = MemoryLedger(database=database, draw_id=lambda _: f"id-{next(numbers)}")
    run = started(ledger)
    assert ledger.database is database
    assert (run.epoch.token, run.owner.incarnation) == ("id-0", "id-1")
