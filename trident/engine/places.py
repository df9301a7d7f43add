"""Where the sinks of a topology write to, looked at before a run reads anything."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from shlex import quote

from trident.base.advice import DROP
from trident.base.errors import ConfigurationError
from trident.base.timeouts import Timeouts
from trident.engine.compiled import CompiledTopology
from trident.graph.nodes import SinkNode
from trident.spouts.kafka.spout import OpaqueKafkaSpout, TransactionalKafkaSpout
from trident.state.kafka.sink import KafkaSink

_log = logging.getLogger("trident.engine")
_CIRCLE = (
    "topology=%s sink=%s writes to topic %s, which stream %s of it reads: each of its records comes back, and again, "
    "unless the stream leaves them out (its headers say which are of this topology)"
)


def check_places(compiled: CompiledTopology, timeouts: Timeouts) -> None:
    """Raise `ConfigurationError` for a topic of a sink that is not there, or that another one keeps its markers in.

    A name is mended before anything is read; one that goes later refuses the records that are for it. A topic that the
    topology reads as well is a warning.
    """
    asked: dict[tuple[object, ...], str | None] = {}
    places = [
        _Place(end.sink, end.topic, _asked(asked, end.sink, end.topic, timeouts))
        for end in compiled.ends
        if isinstance(end, SinkNode) and isinstance(end.sink, KafkaSink)
    ]
    _check_no_markers(compiled.name, places)
    for place in places:
        _check_no_markers_read(compiled, place)
        _warn_of_circle(compiled, place)


@dataclass(frozen=True, slots=True)
class _Place:
    """A sink's cluster and topic, None for topics that its records name."""

    sink: KafkaSink
    topic: str | None
    cluster: str | None
    """The cluster's id, None while it is away."""

    def is_beside(self, other: _Place) -> bool:
        """Tell whether both are in one cluster, however it was written: by its id, else by any server of it."""
        if self.cluster is not None and other.cluster is not None:
            return self.cluster == other.cluster
        return not self.servers.isdisjoint(other.servers)

    @property
    def servers(self) -> set[str]:
        """The servers that it was given, whatever way they are written."""
        return _servers(self.sink.bootstrap_servers)


def _servers(given: str) -> set[str]:
    return {server.strip().lower() for server in given.split(",")} - {""}


def _asked(
    asked: dict[tuple[object, ...], str | None], sink: KafkaSink, topic: str | None, timeouts: Timeouts
) -> str | None:
    """Return the id of a sink's cluster; one that is away is waited for once, however many sinks it has."""
    reached = (sink.bootstrap_servers, *sorted(sink.client_options.items()))
    if asked.get(reached, "") is not None:
        asked[reached] = sink.require_topic(topic, timeouts)
    return asked[reached]


def _check_no_markers(topology: str, places: Sequence[_Place]) -> None:
    """Refuse what would stop whoever's marker has the key of a record.

    Not when the topology is built: a version that ran so has to be there to take its sink out.
    """
    for writing in places:
        for keeping in places:
            if writing.topic == keeping.sink.marker_topic and writing.is_beside(keeping):
                raise ConfigurationError(
                    f"sink {writing.sink.name!r} of topology {topology!r} writes to topic {writing.topic!r}, in which "
                    f"sink {keeping.sink.name!r} keeps its markers: a record with the key of a marker would stop it. "
                    "Nothing was read. Name another topic; where the topology has run like this, take the sink out "
                    f"first, with this version ({DROP} {quote(writing.sink.name)})"
                )


def _warn_of_circle(compiled: CompiledTopology, place: _Place) -> None:
    for stream, spout in _beside(compiled, place):
        if place.topic is not None and spout.reads(place.topic):
            _log.warning(_CIRCLE, compiled.name, place.sink.name, place.topic, stream)


def _check_no_markers_read(compiled: CompiledTopology, place: _Place) -> None:
    """Refuse a pattern that a marker topic matches: whoever names topics means them, a pattern may only be too wide."""
    for stream, spout in _beside(compiled, place):
        if spout.pattern is not None and spout.reads(place.sink.marker_topic):
            raise ConfigurationError(
                f"stream {stream!r} of topology {compiled.name!r} reads all topics that match {spout.pattern!r}, also "
                f"{place.sink.marker_topic!r}, in which sink {place.sink.name!r} keeps its markers. Nothing was read. "
                "Name another marker_topic, or give a pattern that leaves it out"
            )


def _beside(
    compiled: CompiledTopology, place: _Place
) -> Iterator[tuple[str, OpaqueKafkaSpout | TransactionalKafkaSpout]]:
    """Yield the streams of the place's cluster, as far as addresses tell."""
    for stream, spout in compiled.spouts.items():
        if not isinstance(spout, OpaqueKafkaSpout | TransactionalKafkaSpout):
            continue
        if not place.servers.isdisjoint(_servers(spout.bootstrap_servers)):
            yield stream, spout
