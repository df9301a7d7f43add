"""What sketches make of two texts: in any order and grouping the same, and as if all values had come at once."""

from __future__ import annotations

import json
from collections import Counter
from decimal import Decimal
from functools import reduce

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trident.base.errors import ConfigurationError, RefusedError
from trident.operations.aggregators.distinct import ApproxCountDistinct, least_of_both
from trident.operations.aggregators.quantiles import Quantiles, sum_of_both

HASHES = st.sets(st.integers(0, 2**63 - 1), max_size=12)
ROUNDED = st.sampled_from(
    ["0.00e+00", "1.23e+02", "-4.50e-07", "Infinity", "-Infinity", "NaN", "1.80e+308", "-1.80e+308"]
)


def least(hashes: set[int], k: int = 5, of: str = "bigint") -> str:
    return json.dumps({"k": k, "of": of, "least": sorted(hashes)[:k]}, separators=(",", ":"))


def test_values_of_two_types_are_not_counted_together() -> None:
    with pytest.raises(RefusedError, match=r"of the type int, this version's field is bigint.*cast it before"):
        least_of_both(least({1}, of="int"), least({2}))


def counts(values: list[str], digits: int = 3) -> str:
    found = Counter(values)
    by_value = sorted(found, key=lambda value: (value == "NaN", Decimal(0 if value == "NaN" else value)))
    listed = [{"value": value, "n": found[value]} for value in by_value]
    return json.dumps({"digits": digits, "counts": listed}, separators=(",", ":"))


@given(st.lists(HASHES, min_size=1, max_size=5), st.randoms())
def test_the_least_hashes_are_those_of_all_however_they_are_joined(parts: list[set[int]], random: object) -> None:
    texts: list[object] = [least(part) for part in parts]
    random.shuffle(texts)  # type: ignore[attr-defined]
    assert reduce(least_of_both, texts) == least(set().union(*parts))
    assert least_of_both(texts[0], texts[0]) == texts[0]


def test_two_errors_make_the_greater_one() -> None:
    assert least_of_both(least({1, 2, 3, 4, 5, 6}), least({0, 7}, k=3)) == least({0, 1, 2}, k=3)


@given(st.lists(st.lists(ROUNDED, max_size=6), min_size=1, max_size=5), st.randoms())
def test_counts_are_those_of_all_however_they_are_joined(parts: list[list[str]], random: object) -> None:
    texts: list[object] = [counts(part) for part in parts]
    random.shuffle(texts)  # type: ignore[attr-defined]
    assert reduce(sum_of_both, texts) == counts([value for part in parts for value in part])


OTHERS = ["", "[]", "null", '{"k":1}', '{"k":true,"of":"int","least":[]}', '{"digits":"3"}', None, 5]
OTHERS_INSIDE = [
    '{"k":1,"of":"int","least":["a"],"digits":3,"counts":[[]]}',
    '{"digits":3,"counts":[{"value":"x","n":1}]}',
    '{"k":5,"of":"int","least":[true],"digits":0,"counts":[]}',
    '{"k":5,"of":"int","least":[-1],"digits":-3,"counts":[]}',
    '{"k":5,"of":"int","least":[9223372036854775808],"digits":7,"counts":[]}',
    '{"k":2,"of":"int","least":[1,2,3],"digits":3,"counts":[{"value":"NaN","n":0}]}',
    '{"k":0,"of":"int","least":[],"digits":3,"counts":[{"value":"NaN","n":true}]}',
    '{"k":5,"least":[1],"digits":3,"counts":[5]}',
    '{"k":5,"of":"int","least":[1,1],"digits":3,"counts":[{"value":"NaN","n":1},{"value":"NaN","n":1}]}',
]


@pytest.mark.parametrize("text", [*OTHERS, *OTHERS_INSIDE])
def test_what_something_else_has_written_is_refused(text: object) -> None:
    for join, own in ((least_of_both, least({1})), (sum_of_both, counts(["NaN"]))):
        with pytest.raises(RefusedError, match="something else has changed it; the stored values are unchanged"):
            join(text, own)


def test_other_digits_are_refused_with_the_way_out() -> None:
    with pytest.raises(RefusedError, match="go back to digits=3, or give the result another name"):
        sum_of_both(counts(["NaN"]), counts(["NaN"], digits=2))


def test_what_can_not_be_estimated_is_refused() -> None:
    for error in (0.001, 0.9, float("nan"), True, "0.1"):
        with pytest.raises(ConfigurationError, match=r"relative_error must be a number from 0.01 to 0.5"):
            ApproxCountDistinct("x", relative_error=error)  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="digits must be at most 6"):
        Quantiles("x", digits=7)
    assert ApproxCountDistinct("x").hashes == 402
    assert Quantiles("x", [0, 1]).at == (0.0, 1.0)
