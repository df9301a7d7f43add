"""Messages that a test gives a stream: each has an id of its own, and goes alone when its batch is planned again."""

from __future__ import annotations

import pytest
from pyspark.sql.types import StringType, StructField, StructType

from trident.base.errors import ConfigurationError
from trident.base.failure import Failure
from trident.base.ranges import OffsetRange, PartitionId
from trident.engine.messages import MessageTrees
from trident.graph.rooted import Trees
from trident.spouts.base import KnowsOrder, ReadsSmallBatches, SpoutKind, TakesMessagesBack
from trident.testing.scripted import Script, ScriptedSource
from trident.testing.scripted_messages import FailedRecord, MessageScript, ScriptedMessages, ScriptedMessageSource

FIELDS = StructType([StructField("account", StringType())])
ID = PartitionId("messages", 0)


def script(*accounts: str) -> MessageScript:
    made = MessageScript("messages", FIELDS)
    offer(made, *accounts)
    return made


def offer(made: MessageScript, *accounts: str) -> None:
    made.offer(made.checked([(account,) for account in accounts]))


def opened(made: MessageScript) -> ScriptedMessageSource:
    """Open the source as each coordinator does."""
    source = ScriptedMessages(made, SpoutKind.OPAQUE).open("messages")
    assert isinstance(source, TakesMessagesBack)
    assert isinstance(source, KnowsOrder | ReadsSmallBatches)
    source.begin_from({}, {}, {})
    return source


def ids(source: ScriptedMessageSource, start: int, stop: int) -> tuple[str, ...]:
    return source.ids(OffsetRange(ID, "scripted", start, stop))


def standing(made: MessageScript, start: int) -> list[object]:
    return [row["account"] for row in made.between(start, made.end).to_pylist()]


def test_each_row_is_a_message_of_its_own() -> None:
    made = script("ann", "ann")
    source = opened(made)
    first = ids(source, 0, 2)
    assert len(set(first)) == 2
    assert ids(source, 1, 2) == first[1:]
    made.replace(made.checked([("ann",)]))
    other = ids(source, 0, 1)
    offer(made, "ann")
    assert len({*first, *other, *ids(source, 1, 2)}) == 4


def test_what_has_failed_goes_when_its_batch_is_planned_again() -> None:
    made = script("ann")
    offer(made, "bob", "bad", "cid", "left")
    source = opened(made)
    bob, bad, cid, left = ids(source, 1, 5)
    source.fail_messages({bad: Failure.OPERATION, left: Failure.NOT_ACKED, "nobody's": Failure.OPERATION})
    assert (standing(made, 1), made.failed) == (["bob", "bad", "cid", "left"], ()), "until then it stands where it is"
    source.receive({ID: 1})
    assert standing(made, 1) == ["bob", "cid"]
    assert ids(source, 1, 3) == (bob, cid)
    assert (made.end, made.rows) == (3, (("bob",), ("cid",)))
    assert made.given == (("bob",), ("bad",), ("cid",), ("left",))
    assert made.failed == (FailedRecord(("bad",), Failure.OPERATION), FailedRecord(("left",), Failure.NOT_ACKED))
    source.receive({ID: 1})
    assert len(made.failed) == 2
    offer(made, "dan")
    assert not made.failed
    assert (made.rows, standing(made, 3)) == ((("dan",),), ["dan"])


def test_a_batch_of_which_all_has_failed_is_empty() -> None:
    made = script("bad")
    source = opened(made)
    source.fail_messages(dict.fromkeys(ids(source, 0, 1), Failure.OPERATION))
    source.give_back({})
    assert (made.end, made.rows, standing(made, 0), source.bounds()[0].stop) == (0, (), [], 0)


def test_what_stands_before_a_plan_stays() -> None:
    """The plan of the batch behind: the failed one is still to be planned again."""
    made = script("ann", "bad")
    source = opened(made)
    source.fail_messages({ids(source, 1, 2)[0]: Failure.OPERATION})
    source.receive({ID: 2})
    assert (standing(made, 0), made.failed) == (["ann", "bad"], ())


def test_what_a_coordinator_heard_dies_with_it_and_what_it_gave_back_is_gone() -> None:
    made = script("ann", "bad", "worse")
    before = opened(made)
    before.fail_messages({ids(before, 1, 2)[0]: Failure.OPERATION})
    before.receive({})
    before.fail_messages({ids(before, 1, 2)[0]: Failure.OPERATION})
    opened(made).receive({})
    assert (standing(made, 0), made.failed) == (["ann", "worse"], (FailedRecord(("bad",), Failure.OPERATION),))


def test_messages_whose_source_hears_of_no_failure_are_refused() -> None:
    trees = Trees({"messages": 0}, is_asked=True)
    MessageTrees(trees, {"messages": opened(script())}, 1)
    with pytest.raises(ConfigurationError, match=r"stream 'messages': its spout says .* \(ScriptedSource\) can't be"):
        MessageTrees(trees, {"messages": ScriptedSource(Script("messages", FIELDS))}, 1)
