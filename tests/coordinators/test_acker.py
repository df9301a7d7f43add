"""The ack value: zero when everything is processed; each edge once; strangers change nothing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trident.coordinators.acking.acker import AckValue

edge_sets = st.sets(st.integers(1, 2**63 - 1), min_size=1, max_size=20)


@given(edge_sets, st.data())
def test_processed_only_when_every_edge_is_acked_in_any_order_and_number(edges, data):
    acks = AckValue.expecting(edges)
    missing = data.draw(st.sampled_from(sorted(edges)))
    for edge in data.draw(st.permutations(sorted(edges - {missing}) * 2)):
        acks = acks.after([edge])
    assert not acks.is_processed
    assert acks.after([missing]).is_processed
    assert acks.after([missing, missing]).is_processed


@given(edge_sets)
def test_acks_that_come_together_count_as_much_as_one_by_one(edges):
    assert AckValue.expecting(edges).after([*edges, *edges]) == AckValue(0, frozenset())


def test_edges_that_xor_to_zero_still_count_one_by_one():
    acks = AckValue.expecting([1, 2, 3])
    assert not acks.is_processed
    acks = acks.after([1]).after([2])
    assert not acks.is_processed
    assert acks.after([3]).is_processed


def test_acks_of_an_unknown_edge_change_nothing():
    acks = AckValue.expecting([5])
    assert acks.after([6]) == acks
    assert not acks.is_processed


def test_a_batch_without_ranges_is_processed_when_registered():
    assert AckValue.expecting([]).is_processed


@pytest.mark.parametrize("edges", [[0, 1], [4, 4]])
def test_edges_that_could_hide_a_loss_are_refused(edges):
    with pytest.raises(ValueError, match="non-zero and distinct"):
        AckValue.expecting(edges)
