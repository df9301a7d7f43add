"""Ids of records: what a place's id is, and what the rows have that are made of a record."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from trident.base.audit import Accounts, AuditWord, ids_of, made_ids
from trident.base.control import audited_by, decode, encode
from trident.base.digest import Digest, hash64, seed_of
from trident.base.order import order_of

OFFSETS = st.lists(st.integers(0, 2**62), max_size=20)
DIGESTS = st.builds(Digest, *[st.integers(0, 2**63 - 1)] * 3, st.integers(-(2**63), 2**63 - 1))


def orders(topic: str, partition: int, offsets: list[int]) -> pa.BinaryArray:
    return order_of(topic, partition, np.array(offsets, dtype=np.int64))


@given(OFFSETS, OFFSETS, st.integers(0, 5))
def test_a_records_id_is_what_its_manifest_adds_up(one: list[int], other: list[int], cut: int) -> None:
    both = pa.concat_arrays([orders("a", 3, one), orders("longer", 4, other)])
    ids = [
        *hash64(seed_of("a", 3), np.array(one, dtype=np.int64)),
        *hash64(seed_of("longer", 4), np.array(other, np.int64)),
    ]
    assert ids_of(both.slice(cut)).tolist() == ids[cut:]
    assert ids_of(orders("a", 3, one).slice(cut)).tolist() == ids[cut : len(one)]


def test_partitions_of_one_topic_have_ids_of_their_own() -> None:
    both = pa.concat_arrays([orders("a", 0, [1, 2]), orders("a", 1, [1, 2])])
    assert len(set(ids_of(both).tolist())) == 4


@given(st.lists(st.tuples(st.integers(0, 2**64 - 1), st.integers(0, 4)), max_size=10))
def test_rows_that_are_made_of_records_have_ids_by_their_number(made: list[tuple[int, int]]) -> None:
    parents = np.array([parent for parent, _ in made], dtype=np.uint64)
    counts = np.array([count for _, count in made], dtype=np.int64)
    turned = [((parent << 21) | (parent >> 43)) % 2**64 for parent, _ in made]
    expected = [each ^ number for each, (_, count) in zip(turned, made, strict=True) for number in range(1, count + 1)]
    assert made_ids(parents, counts).tolist() == expected


def test_rows_of_three_generations_have_different_ids() -> None:
    ids = np.array([0x0123456789ABCDEF], dtype=np.uint64)
    for _ in range(3):
        ids = made_ids(ids, np.full(len(ids), 7, dtype=np.int64))
    assert len(set(ids.tolist())) == 7**3


@given(st.text(max_size=5), DIGESTS, DIGESTS, DIGESTS)
def test_words_of_an_audit_travel_as_text_and_no_two_are_alike(
    name: str, passed: Digest, done: Digest, made: Digest
) -> None:
    word = AuditWord(f"{name}#1", Accounts(passed, done, made))
    text = encode(word)
    assert decode(text) == word
    assert text != encode(word)
    assert text.startswith(audited_by(f"{name}#"))
    assert not text.startswith(audited_by(f"{name}1#"))


@given(DIGESTS, DIGESTS)
def test_accounts_of_two_tasks_are_added(one: Digest, other: Digest) -> None:
    assert Accounts(one, other) + Accounts(other, one) == Accounts(one + other, other + one)
