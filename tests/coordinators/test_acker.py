"""The acker: zero when everything is processed; each edge once; strangers change nothing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trident.base.identity import BatchId, Epoch, Owner
from trident.coordinators.acking.acker import Acker

BATCH = BatchId(Owner("t", "i"), Epoch(1, "x"), 1, 1)
NEXT = BatchId(Owner("t", "i"), Epoch(1, "x"), 1, 2)

edge_sets = st.sets(st.integers(1, 2**63 - 1), min_size=1, max_size=20)


@given(edge_sets, st.data())
def test_processed_only_when_every_edge_is_acked_in_any_order_and_number(edges, data):
    acker = Acker()
    acker.register(BATCH, edges)
    missing = data.draw(st.sampled_from(sorted(edges)))
    acks = data.draw(st.permutations(sorted(edges - {missing}) * 2))
    for edge in acks:
        acker.ack(BATCH, edge)
    assert not acker.is_processed(BATCH)
    acker.ack(BATCH, missing)
    assert acker.is_processed(BATCH)


def test_edges_that_xor_to_zero_still_count_one_by_one():
    acker = Acker()
    acker.register(BATCH, [1, 2, 3])
    assert not acker.is_processed(BATCH)
    acker.ack(BATCH, 1)
    acker.ack(BATCH, 2)
    assert not acker.is_processed(BATCH)
    acker.ack(BATCH, 3)
    assert acker.is_processed(BATCH)


def test_acks_of_an_old_attempt_or_an_unknown_edge_change_nothing():
    acker = Acker()
    acker.register(NEXT, [5])
    acker.ack(BATCH, 5)
    acker.ack(NEXT, 6)
    assert not acker.is_processed(NEXT)
    assert not acker.is_processed(BATCH)


def test_a_batch_without_ranges_is_processed_when_registered():
    acker = Acker()
    assert not acker.is_processed(BATCH)
    acker.register(BATCH, [])
    assert acker.is_processed(BATCH)


@pytest.mark.parametrize("edges", [[0, 1], [4, 4]])
def test_edges_that_could_hide_a_loss_are_refused(edges):
    with pytest.raises(ValueError, match="non-zero, distinct"):
        Acker().register(BATCH, edges)
