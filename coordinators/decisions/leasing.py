"""Holding a topology for as long as a person's command takes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from trident.base.identity import Epoch
from trident.base.signals import StopSignal
from trident.coordinators.holding.keeping import HearsOfLease, held
from trident.coordinators.ledger.base import Ledger
from trident.coordinators.options import OnRunning, RunOptions
from trident.coordinators.retrying import Repeater


@contextmanager
def leased(ledger: Ledger, topology: str, options: RunOptions, above: int = 0) -> Iterator[tuple[Epoch, Repeater]]:
    """Hold the lease for as long as it takes, under an epoch above that number; LeaseHeldError while another has it.

    The repeater ends early once a newer owner is heard of.
    """
    stopping = StopSignal()
    repeater = Repeater(options.give_up_after, stopping, options.batch_timeout)
    refusing = replace(options, on_running=OnRunning.REFUSE)
    with held(ledger, topology, refusing, repeater, HearsOfLease(lambda _: stopping.set()), above) as epoch:
        yield epoch, repeater
