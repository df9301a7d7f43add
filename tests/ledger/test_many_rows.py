"""A ledger's transaction makes each row when it is sent: how long its server waits does not grow with their number."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import pytest
from sqlalchemy import Connection, event

from tests.ledger.decision_contract import DIVERT, refused
from tests.ledger.making import commit_of, dead_letter_of, pin_of, started
from trident.coordinators.ledger import SqliteLedger
from trident.coordinators.pinned import DeadLetter

MANY = 2_000
Item = TypeVar("Item")


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[SqliteLedger]:
    ledger = SqliteLedger(tmp_path / "ledger.sqlite")
    ledger.open()
    yield ledger
    ledger.close()


class Watch:
    """Notes, as each row is taken, how many were taken that are not in the database yet."""

    def __init__(self, ledger: SqliteLedger) -> None:
        self.behind: list[int] = []
        self._written: Callable[[], int] = lambda: 0
        event.listen(ledger.database.engine, "begin", self._began)

    def _began(self, connection: Connection) -> None:
        driver = connection.connection.driver_connection
        assert driver is not None
        self._written = lambda: int(driver.total_changes)

    def taken(self, items: Iterable[Item]) -> Iterator[Item]:
        before = self._written()
        for number, item in enumerate(items):
            self.behind.append(number - (self._written() - before))
            yield item


def test_a_divert_makes_each_row_when_it_is_written(ledger: SqliteLedger) -> None:
    run, watch = refused(ledger, pinned=True), Watch(ledger)

    class Rows(tuple[str, ...]):
        __slots__ = ()

        def __iter__(self) -> Iterator[str]:
            return watch.taken(super().__iter__())

    ledger.decide(run.owner, run.epoch, DIVERT)
    ledger.divert(run.owner, run.epoch, DIVERT, Rows(f"row {number}" for number in range(MANY)))
    assert len(watch.behind) == MANY
    assert max(watch.behind) <= 1
    ((_, kept),) = ledger.diverted("payments")
    assert kept.rows == tuple(f"row {number}" for number in range(MANY))


@pytest.mark.parametrize("is_together", [True, False])
def test_a_pin_makes_each_dead_letter_when_it_is_written(ledger: SqliteLedger, is_together: bool) -> None:
    run, watch = started(ledger), Watch(ledger)

    class Letters(tuple[DeadLetter, ...]):
        __slots__ = ()

        def __iter__(self) -> Iterator[DeadLetter]:
            return watch.taken(super().__iter__())

    letters = tuple(dead_letter_of(number, None if number % 3 else bytes([number % 256])) for number in range(MANY))
    pin = replace(pin_of(run.plan()), dead_letters=Letters(letters))
    if is_together:
        ledger.commit_together(run.owner, run.epoch, pin, commit_of(pin.plan), (), ())
    else:
        ledger.pin(run.owner, run.epoch, pin)
    assert len(watch.behind) == MANY
    assert max(watch.behind) <= 1
    assert ledger.dead_letters("payments") == letters
