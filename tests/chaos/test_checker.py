"""The checker must see what it is for: each kind of damage is planted and has to be found."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pytest

import chaos.checker
import chaos.recount
from chaos.checker import Planned, Seen, audit, judge, parse_ranges, violations
from chaos.recount import Topic

SENT = {"a": (2, 30, 3), "b": (1, 5, 4)}
TOPIC = Topic(
    SENT,
    {
        0: np.cumsum([[0, 0, 0], [1, 10, 1], [1, 20, 2]], axis=0),
        1: np.cumsum([[0, 0, 0], [0, 0, 0], [1, 5, 4]], axis=0),
    },
)
PLANS = [
    Planned(1, 1, 1, {("s", 0): (0, 1), ("s", 1): (0, 0)}),
    Planned(2, 3, 2, {("s", 0): (1, 2), ("s", 1): (0, 2)}),
]


def test_what_is_as_it_was_sent_is_good():
    verdict = judge("state", SENT, dict(SENT))
    assert verdict.is_good
    assert (verdict.expected, verdict.applied, verdict.keys) == (3, 3, 2)
    assert audit(TOPIC, PLANS) == []
    assert TOPIC.records == 4


@pytest.mark.parametrize(
    ("stored", "found"),
    [
        ({"a": (1, 10, 1), "b": (1, 5, 4)}, (1, 0, 0)),  # a record is lost
        ({"a": (2, 30, 3)}, (1, 0, 0)),  # a key is lost
        ({"a": (3, 50, 5), "b": (1, 5, 4)}, (0, 1, 0)),  # a record is counted twice
        ({"a": (2, 30, 3), "b": (1, 5, 4), "c": (1, 1, 1)}, (0, 0, 1)),  # a key that nobody sent
        ({"a": (2, 40, 4), "b": (1, 5, 4)}, (0, 0, 1)),  # one is lost and another doubled: the count is right
        ({"a": (2, 30, 4), "b": (1, 5, 4)}, (0, 0, 1)),  # the amounts are equal, the records are not
        ({"a": (1, 10, 1), "b": (2, 10, 8)}, (1, 1, 0)),  # in the sum over all keys nothing is missing
    ],
)
def test_each_planted_damage_is_found(stored, found):
    verdict = judge("state", SENT, stored)
    assert (verdict.lost, verdict.duplicated, verdict.unexpected) == found
    assert not verdict.is_good


def test_an_empty_topic_is_no_success():
    assert not judge("state", {}, {}).is_good


def test_a_gap_between_committed_plans_is_found():
    late = Planned(2, 3, 2, {("s", 0): (1, 2), ("s", 1): (1, 2)})
    assert audit(TOPIC, [PLANS[0], late]) == ["s, partition 1: offsets 0 to 1 are in no committed batch"]


def test_a_gap_that_is_a_recorded_loss_is_covered():
    late = Planned(2, 3, 2, {("s", 0): (1, 2), ("s", 1): (1, 2)})
    assert audit(TOPIC, [PLANS[0], late], [("s", 1, 0, 1)]) == []


def test_offsets_in_two_committed_plans_are_found():
    early = Planned(2, 3, 2, {("s", 0): (0, 2), ("s", 1): (0, 2)})
    assert audit(TOPIC, [PLANS[0], early]) == ["s, partition 0: offsets 0 to 1 are in two committed batches"]


def test_an_end_that_is_not_the_topics_is_found():
    short = Planned(2, 3, 2, {("s", 0): (1, 1), ("s", 1): (0, 2)})
    assert audit(TOPIC, [PLANS[0], short]) == ["s, partition 0: the committed batches end at 1, the topic at 2"]


def test_txids_attempts_and_epochs_that_go_back_are_found():
    assert audit(TOPIC, [Planned(2, 1, 1, PLANS[0].ranges), Planned(3, 3, 1, PLANS[1].ranges)])
    assert audit(TOPIC, [Planned(1, 4, 1, PLANS[0].ranges), Planned(2, 3, 1, PLANS[1].ranges)])
    assert audit(TOPIC, [Planned(1, 1, 3, PLANS[0].ranges), Planned(2, 3, 2, PLANS[1].ranges)])


def test_a_reader_may_see_prefixes_of_committed_txids_only():
    right = [Seen(0, (0, 0, 0)), Seen(1, (1, 10, 1)), Seen(2, (3, 35, 7))]
    assert violations(TOPIC, PLANS, "s", right) == []
    for wrong in (Seen(1, (0, 0, 0)), Seen(1, (3, 35, 7)), Seen(2, (3, 35, 6)), Seen(3, (3, 35, 7))):
        assert len(violations(TOPIC, PLANS, "s", [wrong])) == 1
    assert violations(TOPIC, PLANS, "s", [right[2], right[1]]) == ["txid 1 was seen after 2"]


def test_ranges_are_read_from_the_ledgers_own_text():
    from trident.base.ranges import OffsetRange, PartitionId
    from trident.coordinators.ledger.sql.codec import RANGES
    from trident.coordinators.planned import SpoutRange

    text = RANGES.encode((SpoutRange("s", OffsetRange(PartitionId("t", 3), "id", 4, 9)),))
    assert parse_ranges(text) == {("s", 3): (4, 9)}
    assert parse_ranges(RANGES.encode(())) == {}


@pytest.mark.parametrize("module", ["checker", "recount", "reader", "plans"])
def test_the_checker_knows_nothing_of_the_library(module):
    tree = ast.parse(Path(chaos.checker.__file__).with_name(f"{module}.py").read_text())
    names = [
        name
        for node in ast.walk(tree)
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    ]
    assert names
    assert not [name for name in names if name.split(".")[0] == "trident"]
