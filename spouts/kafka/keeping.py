"""Whether topics still hold what was read from them, as it was: what a person asks before it is read again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kafka.admin import ConfigResource, ConfigResourceType, KafkaAdminClient

from trident.base.ranges import OffsetRange, PartitionBounds, PartitionId

_COMPACTED = "compact"


def cleanup_of(admin: KafkaAdminClient, topics: Sequence[str]) -> dict[str, str]:
    """Return the clean-up policy of each topic that tells it."""
    resources = [ConfigResource(ConfigResourceType.TOPIC, topic, None) for topic in topics]
    told: Mapping[str, Mapping[str, Mapping[str, Any]]] = admin.describe_configs(resources, config_filter="all")
    settings = {topic: values for by_topic in told.values() for topic, values in by_topic.items()}
    found = {topic: settings.get(topic, {}).get("cleanup.policy", {}).get("value") for topic in topics}
    return {topic: str(policy) for topic, policy in found.items() if policy is not None}


def what_is_gone(
    ranges: Sequence[OffsetRange], bounds: Mapping[PartitionId, PartitionBounds], policies: Mapping[str, str]
) -> str | None:
    """Return why not all of these ranges is there as it was, None where it is; pure."""
    for item in ranges:
        topic, bound = item.id.topic, bounds.get(item.id)
        where = f"partition {item.id.partition} of topic {topic!r}"
        if bound is None:
            return f"{where} is not there any more"
        if bound.topic_id != item.topic_id:
            return f"topic {topic!r} was deleted and created anew since"
        if not item.width:
            continue
        if bound.earliest > item.start:
            return f"{where} begins at offset {bound.earliest} by now, behind {item.start}"
        if bound.stop < item.stop:
            return f"{where} can't be read up to offset {item.stop} now, only up to {bound.stop}"
        policy = policies.get(topic)
        if policy is None:
            return f"the brokers do not tell the settings of topic {topic!r} (the right DESCRIBE_CONFIGS is missing)"
        if _COMPACTED in policy:
            return f"topic {topic!r} is compacted (cleanup.policy={policy}), so records may be missing in the middle"
    return None
