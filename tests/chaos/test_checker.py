"""The checker must see what it is for: each kind of damage is planted and has to be found."""

from __future__ import annotations

import ast
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import chaos.checker
import chaos.recount
from chaos.checker import Planned, Seen, audit, judge, parse_ranges, violations
from chaos.recount import Topic
from chaos.sent import Glance, Marker, Record, Sightings, expected_of, gone, totals_of, wrongs

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


OUT = (
    Record((0, 0), "a", (10, 1), 1, 1, (0, 0)),
    Record((0, 2), "a", (20, 2), 2, 3, (0, 1)),
    Record((1, 0), "b", (5, 4), 2, 3, (1, 1)),
)
MARKERS = (Marker(0, 0, 1, 0), Marker(1, 1, 1, 1), Marker(1, 1, 2, 1), Marker(2, 3, 2, 2))
"""A birth, a txid, the fence of a successor, and its txid."""
SEEN = Sightings(OUT, MARKERS, [Glance(1, {0: 1, 1: 0}), Glance(2, {0: 4, 1: 2})])
FIRST, SECOND, OTHER = OUT


def found_in(**changed: object) -> list[str]:
    """Return what is found in sightings that were good before."""
    return wrongs(expected_of(TOPIC, PLANS, "s"), replace(SEEN, **changed))  # type: ignore[arg-type]


def test_what_a_sink_has_sent_whole_once_and_in_order_is_good():
    assert found_in() == []
    assert judge("sink", SENT, totals_of(OUT)).is_good
    assert found_in(glances=[]) == []
    assert gone(OUT, OUT) == []


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        ({"records": (SECOND, OTHER)}, "txid 1 is lost: 0 of its 1 records"),
        ({"records": OUT[:1], "markers": MARKERS[:3]}, "txid 2 is lost"),
        ({"records": (FIRST, SECOND)}, "txid 2 is torn: 1 of its 2 records"),
        ({"records": (*OUT, replace(SECOND, place=(0, 4)))}, "txid 2: 1 records were sent twice"),
        ({"records": (*OUT, replace(FIRST, place=(0, 4), txid=3))}, "txid 3 was never committed"),
        ({"records": (*OUT, replace(FIRST, place=(0, 4), txid=2))}, "records are of others' offsets"),
        ({"records": (FIRST, replace(SECOND, value=(20, 3)), OTHER)}, "1 records have another content"),
        ({"records": (FIRST, replace(SECOND, attempt=2), OTHER)}, r"records of attempts \[2\], attempt 3"),
        ({"records": (replace(FIRST, place=(0, 3)), SECOND, OTHER)}, "records of 1 keys are in another order"),
        ({"records": (replace(FIRST, place=(1, 3)), SECOND, OTHER)}, "records of key a are in several partitions"),
        ({"markers": (*MARKERS[:3], replace(MARKERS[3], count=1))}, "says 1 records, and 2 were sent"),
        ({"markers": (*MARKERS, MARKERS[3])}, "txid 2, epoch 2, was sent twice"),
        ({"markers": (*MARKERS, replace(MARKERS[1], epoch=3))}, "txid 1, epoch 3, comes after one of txid 2"),
        ({"markers": (*MARKERS[:3], replace(MARKERS[3], epoch=1))}, "txid 2, epoch 1, comes after"),
        ({"markers": (*MARKERS[:3], replace(MARKERS[3], attempt=2))}, "is of attempt 2"),
        ({"markers": MARKERS[:3]}, "2 records were sent without a marker"),
        ({"glances": [Glance(2, {0: 4, 1: 0})]}, r"txid 2 had ended, .* in partitions \[1\]"),
        ({"glances": [Glance(1, {0: 0, 1: 2})]}, "txid 1 had ended"),
    ],
)
def test_each_planted_damage_to_what_was_sent_is_found(damage, words):
    assert any(re.search(words, text) for text in found_in(**damage)), found_in(**damage)


def test_two_of_one_txid_that_have_changed_places_are_out_of_order():
    wide = [Planned(1, 1, 1, {("s", 0): (0, 2), ("s", 1): (0, 2)})]
    records = [replace(record, txid=1, attempt=1) for record in OUT]
    turned = [replace(records[0], place=(0, 1)), replace(records[1], place=(0, 0)), records[2]]
    markers = [Marker(1, 1, 1, 3)]
    assert wrongs(expected_of(TOPIC, wide, "s"), Sightings(records, markers, [])) == []
    assert wrongs(expected_of(TOPIC, wide, "s"), Sightings(turned, markers, [])) != []


def test_what_was_read_and_is_gone_and_what_was_never_given_are_found():
    assert gone(OUT, OUT[1:]) == ["1 records were read and are not there any more, at [(0, 0)]"]
    assert gone(OUT, [replace(FIRST, key="b"), *OUT[1:]])
    assert gone(OUT[1:], OUT) == ["1 records are there that a reader was never given, at [(0, 0)]"]


@pytest.mark.parametrize("module", ["checker", "databases", "plans", "reader", "recount", "sent", "sink_reader"])
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
