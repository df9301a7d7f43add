"""`trident doctor` at a broker that knows who may do what."""

from __future__ import annotations

from pathlib import Path
from uuid import uuid4

import pytest

from integration_tests.doctor.making import Doctor, Parts, worst
from integration_tests.guarded_kafka import GuardedKafka
from trident import SqliteLedger
from trident.state import KafkaSink


def test_each_right_that_is_missing_is_named(
    guarded_kafka: GuardedKafka, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    guarded = guarded_kafka
    doctor, file = Doctor(tmp_path, capsys), str(tmp_path / "ledger.sqlite")
    SqliteLedger(file).open()
    unique = uuid4().hex[:8]
    source, target, markers = (f"{name}-{unique}" for name in ("source", "target", "markers"))
    for topic in (source, target):
        guarded.create_topic(topic)
    guarded.create_topic(markers, configs={"cleanup.policy": "compact"})
    sink = KafkaSink("alerts", bootstrap_servers=guarded.secured, marker_topic=markers, client_options=guarded.options)
    parts = Parts(f"of {unique}").read(source, guarded.secured, client_options=guarded.options).send(target, sink)

    def said() -> dict[str, str]:
        code, found = doctor.asked(parts, file)
        assert (code == 6) == bool(worst(found))
        return {each["about"].split(" of ")[0].split(" in ")[0]: each["found"] for each in worst(found)}

    first = said()
    for topic in (source, target, markers):
        assert first[f"topic {topic!r}"] == "DESCRIBE is not allowed"
    assert any(name.startswith("transactional id") for name in first)

    guarded.allow_topic(source, "DESCRIBE")
    guarded.allow_topic(target, "DESCRIBE")
    guarded.allow_topic(markers, "READ", "WRITE")
    guarded.allow_id(f"of {unique}.alerts", "DESCRIBE")
    second = said()
    assert second[f"topic {source!r}"] == "READ is not allowed"
    assert second[f"topic {target!r}"] == "DESCRIBE_CONFIGS, WRITE is not allowed"
    assert second[f"topic {markers!r}"] == "DESCRIBE_CONFIGS is not allowed"
    assert any(name.startswith("transactional id") for name in second), "WRITE is missing"

    guarded.allow_topic(source, "READ")
    guarded.allow_topic(target, "DESCRIBE_CONFIGS", "WRITE")
    guarded.allow_topic(markers, "DESCRIBE_CONFIGS")
    guarded.allow_id(f"of {unique}.alerts", "WRITE")
    assert said() == {}
