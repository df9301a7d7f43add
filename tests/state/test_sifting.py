"""Rows that are refused are found by halving: all of them, no others, in few tries; and what can't be told is said."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil, log2

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trident.state.sifting import Sifted, Verdict, in_lasting_order, sift

MOST = 10_000


class Asked:
    """A target that refuses these rows, counts how often it is asked, and may refuse pairs that are together."""

    def __init__(
        self,
        bad: frozenset[int],
        pairs: Sequence[tuple[int, int]] = (),
        late: frozenset[int] = frozenset(),
        needs: Mapping[int, int] | None = None,
    ) -> None:
        self.bad, self.pairs, self.late, self.needs = bad, pairs, late, needs or {}
        self.tries = 0
        self.always = False

    def refuses(self, numbers: Sequence[int]) -> bool:
        self.tries += 1
        there = set(numbers)
        lonely = any(self.needs.get(number, number) not in there for number in there)
        return self.always or lonely or bool(there & self.bad) or any(there.issuperset(pair) for pair in self.pairs)

    def in_full(self, numbers: Sequence[int]) -> bool:
        return bool(set(numbers) & self.late) or self.refuses(numbers)


@given(st.data())
def test_just_those_that_are_refused_are_found_in_few_tries(data: st.DataObject) -> None:
    count = data.draw(st.integers(1, 300))
    bad = data.draw(st.frozensets(st.integers(0, count - 1)))
    asked = Asked(bad)
    found = sift(count, asked.refuses, MOST)
    assert found.refused == tuple(sorted(bad))
    assert found.kept == tuple(number for number in range(count) if number not in bad)
    expected = Verdict.FITS if not bad else Verdict.ALL if len(bad) == count else Verdict.SOME
    assert found.verdict is expected
    assert asked.tries <= 3 + len(bad) + 2 * len(bad) * ceil(log2(count) if count > 1 else 0)


def test_one_bad_row_of_a_million_takes_some_forty_tries() -> None:
    asked = Asked(frozenset({123_456}))
    assert sift(1_000_000, asked.refuses, MOST).refused == (123_456,)
    assert asked.tries <= 3 + 2 * 20


@given(st.data())
def test_what_is_refused_only_together_names_nobody(data: st.DataObject) -> None:
    count = data.draw(st.integers(2, 60))
    pair = data.draw(st.lists(st.integers(0, count - 1), min_size=2, max_size=2, unique=True))
    bad = data.draw(st.frozensets(st.integers(0, count - 1).filter(lambda number: number not in pair)))
    found = sift(count, Asked(bad, [(pair[0], pair[1])]).refuses, MOST)
    assert found.verdict is Verdict.TOGETHER
    assert found.refused == ()


@pytest.mark.parametrize("bad", [frozenset[int](), frozenset({3})])
def test_what_is_refused_once_everything_is_there_names_nobody(bad: frozenset[int]) -> None:
    asked = Asked(bad, late=frozenset({1}))
    assert sift(8, asked.refuses, MOST, asked.in_full) == Sifted(Verdict.TOGETHER, 8)


@given(st.data())
def test_what_needs_another_row_that_is_kept_stays_wherever_it_lies(data: st.DataObject) -> None:
    """Each row may need one that was before it, in a chain too; those that need a bad one are bad with it."""
    count = data.draw(st.integers(2, 40))
    bad = data.draw(st.frozensets(st.integers(0, count - 1), max_size=5))
    chosen = data.draw(st.dictionaries(st.integers(1, count - 1), st.integers(0, count - 1)))
    needs = {number: other % number for number, other in chosen.items()}
    lost = set(bad)
    for number in range(count):
        if needs.get(number) in lost:
            lost.add(number)
    place = data.draw(st.permutations(range(count)))
    asked = Asked(
        frozenset(place[number] for number in bad),
        needs={place[number]: place[other] for number, other in needs.items()},
    )
    found = sift(count, asked.refuses, MOST)
    assert found.refused == tuple(sorted(place[number] for number in lost))


def test_those_that_fit_with_what_is_kept_and_not_with_each_other_name_nobody() -> None:
    asked = Asked(frozenset({3}), pairs=[(1, 2)], needs={1: 4, 2: 4})
    assert sift(5, asked.refuses, MOST) == Sifted(Verdict.TOGETHER, 5)


def test_putting_rows_back_is_bounded() -> None:
    asked = Asked(frozenset(range(0, 64, 2)))
    tries = 2 * 32 - 2 + 2 * 32
    assert sift(64, asked.refuses, tries).verdict is Verdict.UNTOLD
    assert asked.tries == tries + 2
    assert sift(64, asked.refuses, tries + 32).verdict is Verdict.SOME


def test_rows_are_tried_in_an_order_of_their_own() -> None:
    rows = pa.table({"k": ["b", None, "a"], "v": [1, 2, 3], "l": [[1], [2], [3]]})
    lasting = in_lasting_order(rows)
    assert lasting["k"].to_pylist() == ["a", "b", None]
    assert lasting.equals(in_lasting_order(rows.take([2, 0, 1])))


def test_what_is_bad_by_itself_and_late_too_is_found() -> None:
    asked = Asked(frozenset({5}), late=frozenset({5}))
    assert sift(8, asked.refuses, MOST, asked.in_full) == Sifted(Verdict.SOME, 8, (5,))


def test_a_search_ends_when_it_has_tried_often_enough() -> None:
    asked = Asked(frozenset(range(1000)))
    found = sift(1000, asked.refuses, 100)
    assert found.verdict is Verdict.UNTOLD
    assert asked.tries == 102
    assert 0 < len(found.refused) < 1000


def test_what_is_refused_without_any_row_blames_none() -> None:
    asked = Asked(frozenset())
    asked.always = True
    assert sift(1_000, asked.refuses, MOST) == Sifted(Verdict.NO_ROW, 1_000)
    assert asked.tries == 2


def test_nothing_is_asked_of_no_rows() -> None:
    asked = Asked(frozenset())
    assert (sift(0, asked.refuses, MOST), asked.tries) == (Sifted(Verdict.FITS, 0), 0)


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (Sifted(Verdict.SOME, 9, (1,)), "1 of its 9 keys is refused, the others fit"),
        (Sifted(Verdict.SOME, 9, (1, 2)), "2 of its 9 keys are refused, the others fit"),
        (Sifted(Verdict.NO_ROW, 2), "without any of its 2 keys as well, so none of them is the cause"),
        (Sifted(Verdict.ALL, 2, (0, 1)), "every one of its 2 keys is refused"),
        (Sifted(Verdict.UNTOLD, 9, (1, 2)), "at least 2 of its 9 keys are refused"),
        (Sifted(Verdict.UNTOLD, 9), "which of its 9 keys are refused can't be told"),
        (Sifted(Verdict.TOGETHER, 9), "they are refused together"),
        (Sifted(Verdict.FITS, 9), "none of its 9 keys is refused any more"),
    ],
)
def test_it_is_said_in_words(found: Sifted, words: str) -> None:
    assert words in str(found)
