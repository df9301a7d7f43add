"""What ledgers in a database promise an owner whose lease has run out and that beats on; for any two of a database."""

from __future__ import annotations

from unittest.mock import patch

import pytest

from tests.ledger.making import LONG, run_out
from trident.base.errors import FencedError, LeaseHeldError
from trident.coordinators.holding.keeping import HearsOfLease, Heartbeat
from trident.coordinators.ledger.sql.ledger import SqlLedger
from trident.coordinators.ledger.sql.presence import PresenceMark
from trident.coordinators.registered import Lease


def check_that_who_beats_keeps_a_lease_that_has_run_out(owner: SqlLedger, other: SqlLedger) -> None:
    epoch = owner.acquire("payments", Lease("one", LONG)).epoch
    fenced: list[FencedError] = []
    with Heartbeat(owner, "payments", epoch, LONG, HearsOfLease(fenced.append)):
        for _ in range(3):
            run_out(owner)
            # by then its sessions would have been ended, for nothing
            begins = patch.object(other._presence, "hold", side_effect=AssertionError("nothing is begun in its place"))
            with begins, pytest.raises(LeaseHeldError, match="held by one"):
                other.acquire("payments", Lease("two", LONG))
    assert not fenced
    run_out(owner)
    assert other.acquire("payments", Lease("two", LONG)).epoch.number == 2, "nobody beats any more"


def check_that_a_beat_at_the_last_moment_keeps_it(
    owner: SqlLedger, other: SqlLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    epoch = owner.acquire("payments", Lease("one", LONG)).epoch
    run_out(owner)
    hold = other._presence.hold

    def late(topology: str, token: str) -> PresenceMark:
        owner.renew("payments", epoch)
        return hold(topology, token)

    monkeypatch.setattr(other._presence, "hold", late)
    with pytest.raises(LeaseHeldError, match="held by one"):
        other.acquire("payments", Lease("two", LONG))
    owner.renew("payments", epoch)
