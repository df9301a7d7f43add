"""Where tasks stage rows of a sink as files: whether it can be reached from here, and what lies there."""

from __future__ import annotations

from collections.abc import Iterator

from trident.doctor.findings import Finding, ok, problem
from trident.doctor.standing import standing_of
from trident.doctor.subject import KafkaOutput, Subject
from trident.state.kafka.bulk.folder import StagingFolder


def look_at_folder(subject: Subject, output: KafkaOutput) -> Iterator[Finding]:
    """Say whether a sink's staging folder is there; whether tasks see the same one, each batch finds out."""
    sink = output.sink
    if sink.staging_folder is None:
        return
    about = f"staging folder of sink {sink.name!r}"
    folder = StagingFolder(str(sink.staging_folder), sink.name)
    found = folder.lying(subject.topology)
    if found is None and standing_of(subject) is None:
        yield ok(about, f"{folder.shown} is not there: the first start makes it")
        return
    if found is None:
        yield problem(
            about,
            f"{folder.shown} is not there, or no folder",
            "the next start makes it; files that waited to be sent are gone with it",
            "put back what was there, if the topology has run before; mount what is to be mounted",
        )
        return
    count, size = found
    yield ok(about, f"{folder.shown} is there, with {count} files of it ({size:,} bytes)")
