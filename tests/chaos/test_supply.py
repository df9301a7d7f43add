"""No fault finds the records used up: more are produced, of another seed, and all of them are waited for."""

from __future__ import annotations

from chaos.supply import Supply


def test_more_are_produced_only_when_all_have_been_processed():
    produced: list[tuple[int, int]] = []
    supply = Supply(lambda records, seed: produced.append((records, seed)), 400, seed=7, streams=2)
    supply.replenish(799)
    assert produced == [(400, 7)]
    supply.replenish(800)
    supply.replenish(800)
    assert produced == [(400, 7), (100, 407)]
    assert (supply.planned, supply.records, supply.processed_at_last) == (800, 500, 1_000)
    supply.replenish(1_000)
    assert produced[2:] == [(100, 507)]
