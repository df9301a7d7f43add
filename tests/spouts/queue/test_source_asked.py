"""A source that is asked where it starts: the process that goes on was told all that is known, or is another one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.spouts.queue.file_queue import FileQueueSpout
from tests.spouts.queue.test_source import LOG, FakeInstance, plan
from trident.spouts.queue.acking import SpoutContext
from trident.spouts.queue.source import AckingSource


def asked() -> tuple[AckingSource, list[FakeInstance]]:
    """Return a source that was asked where it starts, which gives a message in each process, and its processes."""
    instances: list[FakeInstance] = []

    def begin(context: SpoutContext) -> FakeInstance:
        instances.append(FakeInstance(context, f"of {context.instance}"))
        return instances[-1]

    source = AckingSource("messages", FileQueueSpout(Path("unused")), begin)
    source.starts()
    return source, instances


def test_who_was_asked_where_it_starts_before_anything_was_known_is_ended_and_another_one_is_told() -> None:
    source, instances = asked()
    assert instances[0].context.progress is None
    source.belong_to("one", 3)
    source.starts()
    source.begin_from({}, {}, {})
    assert (instances[0].is_closed, instances[1].is_closed, len(instances)) == (True, False, 2)
    assert instances[1].context.progress == source._progress() is not None
    assert plan(source)[1] == ("of 2",), "what the other one gave comes again"


@pytest.mark.parametrize(
    ("start", "done", "pinned"), [(1, {"a": ""}, {}), (0, {"a": ""}, {}), (0, {}, {"b": ""}), (1, {}, {})]
)
def test_a_process_that_goes_on_was_told_all_that_is_done_or_pinned(
    start: int, done: dict[str, str], pinned: dict[str, str]
) -> None:
    source, instances = asked()
    source.belong_to("one", 3)
    source.starts()
    source.begin_from({LOG: start}, done, pinned)
    assert [each.is_closed for each in instances] == [True, True, False]
    context = instances[-1].context
    assert (context.known, context.progress) == ((*done, *pinned), source._progress())


def test_a_process_that_was_told_all_this_when_it_was_asked_goes_on() -> None:
    source, instances = asked()
    source.starts()
    source.begin_from({LOG: 0}, {}, {})
    assert [each.is_closed for each in instances] == [False]
