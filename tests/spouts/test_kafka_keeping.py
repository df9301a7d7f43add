"""Whether topics still hold what was read from them: each thing that is in the way, by its name."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any, cast

import pytest
from kafka.admin import KafkaAdminClient

from trident.base.ranges import OffsetRange, PartitionBounds, PartitionId
from trident.spouts.kafka.keeping import cleanup_of, what_is_gone

ID = PartitionId("clicks", 0)
READ = OffsetRange(ID, "id", 15, 25)
IDLE = OffsetRange(PartitionId("idle", 1), "other", 7, 7)
BOUNDS = {ID: PartitionBounds(ID, "id", 15, 25), IDLE.id: PartitionBounds(IDLE.id, "other", 7, 7)}
POLICIES = {"clicks": "delete", "idle": "compact"}


def test_what_is_there_can_be_read_again() -> None:
    assert what_is_gone([READ, IDLE], BOUNDS, POLICIES) is None
    assert what_is_gone([READ], {ID: PartitionBounds(ID, "id", 0, 99)}, {"clicks": "delete"}) is None
    assert what_is_gone([], {}, {}) is None


@pytest.mark.parametrize(
    ("read", "bound", "policies", "word"),
    [
        (READ, None, POLICIES, "partition 0 of topic 'clicks' is not there any more"),
        (replace(READ, topic_id="former"), BOUNDS[ID], POLICIES, "was deleted and created anew"),
        (replace(READ, topic_id="former", stop=15), BOUNDS[ID], POLICIES, "was deleted and created anew"),
        (READ, replace(BOUNDS[ID], earliest=16), POLICIES, "begins at offset 16 by now, behind 15"),
        (READ, replace(BOUNDS[ID], stop=24), POLICIES, "can't be read up to offset 25 now, only up to 24"),
        (READ, BOUNDS[ID], {}, "do not tell the settings of topic 'clicks'.*DESCRIBE_CONFIGS"),
        (READ, BOUNDS[ID], {"clicks": "compact"}, r"is compacted \(cleanup.policy=compact\)"),
        (READ, BOUNDS[ID], {"clicks": "delete,compact"}, "is compacted"),
    ],
)
def test_what_is_in_the_way_is_said(
    read: OffsetRange, bound: PartitionBounds | None, policies: dict[str, str], word: str
) -> None:
    bounds = {} if bound is None else {ID: bound}
    said = what_is_gone([read], bounds, policies)
    assert said is not None
    assert re.search(word, said)


class Admin:
    """What kafka-python answers; it leaves out what it may not tell."""

    def describe_configs(self, resources: Any, config_filter: str) -> dict[str, Any]:
        assert config_filter == "all", "a policy that is the broker's own counts too"
        told = {"clicks": {"cleanup.policy": {"value": "compact"}}, "hidden": {}}
        return {"topic": {each.name: told[each.name] for each in resources if each.name in told}}


def test_settings_that_are_not_told_are_left_out() -> None:
    admin = cast(KafkaAdminClient, Admin())
    assert cleanup_of(admin, ["clicks", "hidden", "gone"]) == {"clicks": "compact"}
