"""Each sink's newest marker, held against what the ledger or its outbox says."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from trident.coordinators.ledger.view import TopologyStatus
from trident.doctor.clients import reading
from trident.doctor.findings import Finding, ok, problem, warning
from trident.doctor.standing import standing_of
from trident.doctor.subject import KafkaOutput, Subject
from trident.state.kafka.clients.producing import ConfluentProducers
from trident.state.kafka.clients.python_cluster import PythonCluster
from trident.state.kafka.markers import Markers
from trident.state.kafka.outbox.tables import OUTBOX_TABLES, standing_in
from trident.state.positions import Position
from trident.state.postgres.database import PostgresDatabase

_GOES: Final = 3
_PAUSE_SECONDS: Final = 0.5
"""Marker and ledger are read one after the other, beside a coordinator that moves both."""


@dataclass(frozen=True, slots=True)
class Expected:
    """Where a marker has to stand; `incarnation` is None for a sink that nobody has registered yet."""

    where: str
    incarnation: str | None
    oldest: int = 0
    newest: int = 0
    born: int | None = None
    """Its birth, where nothing is done since: that may have been cut off, and the next start finishes it."""
    resets: bool = False
    """Whether a reset is recorded and not finished, which some markers may have followed."""


def look_at_markers(subject: Subject, output: KafkaOutput) -> Iterator[Finding]:
    """Say whether the newest marker can be read, and whether it stands where it should."""
    sink, about = output.sink, f"marker of sink {output.sink.name!r}"
    patience = timedelta(seconds=subject.seconds / 2)
    with closing(
        PythonCluster(sink.name, sink.bootstrap_servers, sink.client_options, patience.total_seconds())
    ) as cluster:
        producers = ConfluentProducers(sink.name, sink.bootstrap_servers, sink.client_options, patience)
        markers = Markers(sink.name, sink.marker_topic, cluster, producers)

        def position() -> Position | None:
            found = markers.read(subject.topology)
            return None if found is None else found.position

        yield compared(about, position, lambda: _expected(subject, sink.name))
        if not sink.shares or position() is None:
            return
        of_shares = [Markers(sink.name, sink.marker_topic, cluster, producers, share) for share in sink.shares]
        found = [markers.read(subject.topology) for markers in of_shares]
        expected = _expected(subject, sink.name)  # after the markers: a coordinator at work may only be further by now
        for share, marker in zip(sink.shares, found, strict=True):
            about = f"marker of producer {share} of sink {sink.name!r}"
            yield judged_share(about, marker.position if marker else None, expected)


def judged_share(about: str, found: Position | None, expected: Expected) -> Finding:
    """Hold the marker of one of several producers against what it may be: a start asks for each of them."""
    if (unfinished := _unfinished(about, found, expected)) is not None:
        return unfinished
    if found is None:
        return problem(
            about,
            "it is gone: the marker topic was emptied, or made anew",
            "a start is refused, and nothing is sent: without it nobody can tell what was",
            "restore the marker topic",
        )
    is_same = expected.incarnation in (None, found.owner.incarnation)  # the sink's own says what nobody knows of
    if is_same and (expected.incarnation is None or found.txid <= expected.newest):
        return ok(about, f"it is there, at txid {found.txid}")
    return problem(
        about,
        f"it stands at txid {found.txid} of incarnation {found.owner.incarnation}, and {expected.where} says at most "
        f"txid {expected.newest} of {expected.incarnation}",
        "one of the two was put back to another moment, or a reset was cut off: a start is refused, nothing is sent",
        "start the topology, which finishes a reset; if it is refused, restore both to one moment",
    )


def compared(about: str, position: Callable[[], Position | None], expected: Callable[[], Expected]) -> Finding:
    """Return what it means where the marker stands; what a running coordinator moves is looked at again."""
    for go in range(_GOES):
        found = judged(about, position(), expected())
        if not found.is_problem or go == _GOES - 1:
            return found
        time.sleep(_PAUSE_SECONDS)
    raise AssertionError("the last go has returned")


def judged(about: str, found: Position | None, expected: Expected) -> Finding:
    """Hold a marker against what it should be."""
    if (unfinished := _unfinished(about, found, expected)) is not None:
        return unfinished
    if expected.incarnation is None:
        shown = "there is none yet" if found is None else f"it stands at txid {found.txid}"
        return (
            ok(about, f"{shown}, and {expected.where} knows of no such sink: the first start brings it")
            if found is None
            else problem(
                about,
                f"{shown} of incarnation {found.owner.incarnation}, and {expected.where} knows of no such sink",
                "it was filled with another ledger: a start is refused, and nothing is sent",
                "name that ledger, or read in the guarantees what a lost ledger costs",
            )
        )
    if found is None:
        return problem(
            about,
            f"there is none, and {expected.where} knows the sink at txid {expected.newest}",
            "nobody can tell what was sent: a start is refused, and nothing is sent",
            "restore the marker topic from a backup of the same moment",
        )
    stands = f"it stands at txid {found.txid}"
    is_same = found.owner.incarnation == expected.incarnation
    if is_same and expected.oldest <= found.txid <= expected.newest:
        waits = f"; what waits goes on to txid {expected.newest}" if found.txid < expected.newest else ""
        return ok(about, f"{stands}, as {expected.where} says{waits}")
    return problem(
        about,
        f"{stands} of incarnation {found.owner.incarnation}, and {expected.where} says txid {expected.oldest} to "
        f"{expected.newest} of {expected.incarnation}",
        "one of the two was put back to another moment: a start is refused, and nothing is sent twice or left out",
        "restore both to one moment",
    )


def _unfinished(about: str, found: Position | None, expected: Expected) -> Finding | None:
    """Return what a birth or a reset that was cut off explains; None for what it does not."""
    shown = "there is none" if found is None else f"it stands at txid {found.txid} of {found.owner.incarnation}"
    is_same = found is not None and found.owner.incarnation == expected.incarnation
    if expected.resets and not is_same:
        return warning(
            about,
            f"{shown}, and a reset is recorded that is not finished",
            "sinks may be of both lives until it is; nothing is sent",
            "start the topology, which finishes it",
        )
    if expected.born is not None and (found is None or (is_same and found.txid == expected.born)):
        return ok(about, f"{shown}: the sink is born at txid {expected.born}, and the next start finishes that")
    return None


def _expected(subject: Subject, sink: str) -> Expected:
    database, standing = subject.ledger.database, standing_of(subject)
    if isinstance(database, PostgresDatabase):
        return _by_outbox(subject.topology, sink, database, standing)
    return _by_ledger(sink, standing)


def _by_outbox(topology: str, sink: str, database: PostgresDatabase, standing: TopologyStatus | None) -> Expected:
    with reading(database) as connection:
        is_made = OUTBOX_TABLES.version_of(connection)
        found = standing_in(connection, topology, sink) if is_made else None
    if found is None:
        return _by_ledger(sink, standing)
    row, sent = found
    resets = standing is not None and standing.open_reset is not None
    return Expected("its outbox", row.position.owner.incarnation, sent, row.newest_txid, resets=resets)


def _by_ledger(sink: str, standing: TopologyStatus | None) -> Expected:
    where = "the ledger"
    births = {} if standing is None else {birth.state: birth.txid for birth in standing.births}
    if standing is None or sink not in births:
        return Expected(where, None)
    newest = standing.done if standing.pinned is None else standing.pinned
    born = standing.done if births[sink] == standing.done else None
    resets = standing.open_reset is not None
    return Expected(where, standing.incarnation, standing.done, newest, born, resets)
