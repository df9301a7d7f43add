"""Trees of messages: processed exactly when every edge was acked, in any order, whatever shape the tree has."""

from __future__ import annotations

import random

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from trident.base.trees import POSITION_BITS, Ids, edges_of, first_edges, roots_of
from trident.coordinators.acking.trees import Ackers


def ids(*numbers: int) -> Ids:
    return np.array(numbers, dtype=np.uint64)


def ackers_with(roots: Ids, count: int = 1) -> Ackers:
    ackers = Ackers(count)
    ackers.begin(roots, first_edges(roots))
    return ackers


@st.composite
def graphs(draw: st.DrawFn) -> tuple[int, list[tuple[tuple[int, ...], int]]]:
    """Rows made of roots: of each its roots, and how many rows are made of it (merges, diamonds, drops)."""
    count = draw(st.integers(1, 4))
    rows: list[tuple[tuple[int, ...], int]] = []
    alive: list[tuple[int, ...]] = [(root,) for root in range(count)]
    for _ in range(draw(st.integers(0, 12))):
        if not alive:
            break
        members = draw(st.lists(st.sampled_from(range(len(alive))), min_size=1, max_size=3, unique=True))
        roots = tuple(sorted({root for member in members for root in alive[member]}))
        alive = [each for place, each in enumerate(alive) if place not in members]
        makes = draw(st.integers(0, 3))
        rows.append((roots, makes))
        alive += [roots] * makes
    return count, rows


@settings(max_examples=200)
@given(graphs(), st.integers(1, 4), st.randoms(use_true_random=False), st.data())
def test_a_tree_is_processed_exactly_when_every_edge_of_it_was_acked_in_any_order(
    graph: tuple[int, list[tuple[tuple[int, ...], int]]], ackers: int, rng: random.Random, data: st.DataObject
) -> None:
    count, rows = graph
    roots = roots_of(3, 100, 100 + count)
    first = first_edges(roots)
    made = [(int(roots[root]), int(first[root])) for root in range(count)]
    begun = list(made)
    for number, (row_roots, makes) in enumerate(rows):
        edges = edges_of(f"step {number}", 0, np.arange(makes * len(row_roots), dtype=np.int64))
        targets = [int(roots[root]) for root in row_roots] * makes
        made += zip(targets, map(int, edges), strict=True)
    acks = list(made)
    left_out = data.draw(st.sets(st.sampled_from(range(len(acks)))))
    said = [("made", *each) for each in made[count:]] + [
        ("acked", *each) for place, each in enumerate(acks) if place not in left_out
    ]
    rng.shuffle(said)
    cut = data.draw(st.integers(0, len(said)))
    tracked = Ackers(ackers)
    for _, root, edge in said[:cut]:
        tracked.ack(ids(root), ids(edge))
    tracked.begin(ids(*(root for root, _ in begun)), ids(*(edge for _, edge in begun)))
    for _, root, edge in said[cut:]:
        tracked.ack(ids(root), ids(edge))
    is_open = {acks[place][0] for place in left_out}
    assert tracked.processed(roots).tolist() == [int(root) not in is_open for root in roots]


def test_a_message_of_which_nothing_was_made_is_processed_when_it_is_acked() -> None:
    roots = roots_of(0, 0, 3)
    ackers = ackers_with(roots)
    assert not ackers.processed(roots).any()
    ackers.ack(roots[:2], first_edges(roots)[:2])
    assert ackers.processed(roots).tolist() == [True, True, False]


def test_what_was_acked_twice_is_open_again() -> None:
    roots = roots_of(0, 0, 1)
    ackers = ackers_with(roots)
    for _ in range(2):
        ackers.ack(roots, first_edges(roots))
    assert not ackers.processed(roots).any()


def test_a_root_that_no_source_has_given_is_never_processed() -> None:
    ackers = ackers_with(roots_of(0, 0, 1))
    ackers.ack(ids(7, 7), ids(1, 1))
    assert not ackers.processed(ids(7)).any()
    assert not Ackers(2).processed(ids(7)).any()


def test_the_messages_of_an_acker_that_dies_are_not_processed_and_all_others_are() -> None:
    roots = roots_of(0, 0, 10)
    ackers = ackers_with(roots, 3)
    ackers.lose(1)
    ackers.ack(roots, first_edges(roots))
    assert [int(root) for root, is_in in zip(roots, ackers.processed(roots), strict=True) if not is_in] == [1, 4, 7]


def test_a_root_is_of_one_message_of_one_stream() -> None:
    last = 2**POSITION_BITS
    assert roots_of(5, 7, 9).tolist() == [5 * last + 7, 5 * last + 8]
    assert not set(roots_of(5, last - 2, last).tolist()) & set(roots_of(6, 0, 2).tolist())


def test_edges_of_two_places_tasks_and_rows_are_no_two_alike() -> None:
    numbers = np.arange(1000, dtype=np.int64)
    edges = [edges_of(place, task, numbers) for place in ("a", "b") for task in range(3)]
    assert len(set(np.concatenate(edges).tolist())) == 6000
