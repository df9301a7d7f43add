"""Reading and moving a sink's marker: compare, then set, with nobody in between.

A session is begun first, which fences every other one of this transactional id; then the newest marker is read; then
rows and the new marker are sent in one transaction of that session. So whoever commits has read what was newest: the
transactional id is the lock, and the marker the row under it. It is the first statement of an SQL apply, in Kafka.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, TypeVar

from trident.base.crash_points import CrashPoint, reached
from trident.base.errors import MismatchError
from trident.base.identity import Epoch
from trident.state.kafka.clients.cluster import Cluster, Producers, Session, StillOpenError, TopicSettings
from trident.state.kafka.marker import Marker, decode, encode, transactional_id
from trident.state.kafka.records import Record
from trident.state.positions import check_epoch

_T = TypeVar("_T")
_COMPACTED: Final = "compact"


@dataclass(frozen=True, slots=True)
class Change:
    """What is to be committed together."""

    marker: Marker
    records: Iterable[Record] = ()


Decide = Callable[[Marker | None, str], Change | None]
"""Makes a change of the newest marker and the cluster's id, or none."""


class Markers:
    """The markers of one sink, or of one of its several producers; for one thread."""

    def __init__(self, sink: str, topic: str, cluster: Cluster, producers: Producers, share: int | None = None) -> None:
        self._sink = sink
        self._share = share
        self._topic = topic
        self._cluster = cluster
        self._producers = producers
        self._known: TopicSettings | None = None

    def prepare(self) -> None:
        """Make the marker topic, or check the one that is there."""
        if self._settings() is None:
            self._cluster.make_marker_topic(self._topic)
            self._settings()

    def read(self, topology: str) -> Marker | None:
        """Return the newest marker, None where there is none, or no topic for it."""
        if self._settings() is None:
            return None
        marker, _ = self._find(topology, self._cluster.id())
        return marker

    def look(self, topology: str, end_others: Callable[[], None] = lambda: None) -> Marker | None:
        """Do what `read` does before the fence is raised, when an owner that died may have left a transaction open.

        Nobody else ends that before its time is over. A session does, and is begun only where something is open for
        longer than what is being sent: an owner that lives (of another ledger) begins again. `end_others` ends what
        the sink may have left open under other ids.
        """
        if self._settings() is None:
            return None
        try:
            marker, _ = self._find(topology, self._cluster.id(), briefly=True)
        except StillOpenError:
            end_others()
            with closing(self._begin(transactional_id(topology, self._sink, self._share), {})) as session:
                marker, _ = self._find(topology, session.cluster_id())
        return marker

    def change(
        self,
        topology: str,
        decide: Decide,
        *,
        limits: Mapping[str, int] = MappingProxyType({}),
        txid: int = 0,
    ) -> None:
        """Commit what `decide` makes of the newest marker and the cluster's id; None: nothing.

        May be repeated after any error. What `decide` raises is raised, and nothing was sent then. `limits` are how
        large messages of the records' topics may be, which a session has to know when it begins.
        """
        id_ = transactional_id(topology, self._sink, self._share)
        with closing(self._begin(id_, limits)) as session:
            reached(CrashPoint.AFTER_SESSION, txid)
            here = session.cluster_id()
            marker, partition = self._find(topology, here)
            reached(CrashPoint.AFTER_READING_MARKER, txid)
            change = decide(marker, here)
            if change is None:
                return
            session.begin()
            for record in change.records:
                session.send(record)
                reached(CrashPoint.SENDING, txid)
            reached(CrashPoint.BEFORE_MARKER, txid)
            session.send(Record(self._topic, id_.encode(), encode(change.marker), ()), partition)
            reached(CrashPoint.BEFORE_END_OF_TRANSACTION, txid)
            session.commit()
        reached(CrashPoint.AFTER_END_OF_TRANSACTION, txid)

    def ask(self, topology: str, question: Callable[[Marker | None], _T], *, txid: int = 0) -> _T:
        """Return what a question makes of the newest marker, in a session: it ends what an earlier try left open."""
        answers: list[_T] = []

        def look(found: Marker | None, _: str) -> Change | None:
            answers.append(question(found))
            return None

        self.change(topology, look, txid=txid)
        return answers[0]

    def settle(self, topology: str) -> None:
        """End what any session of this id has left open: an open transaction hides what lies behind it."""
        self._begin(transactional_id(topology, self._sink, self._share), {}).close()

    def _begin(self, id_: str, limits: Mapping[str, int]) -> Session:
        known = self._known or self._settings()
        of_topic = {} if known is None else {self._topic: known.max_message_bytes}
        return self._producers.open(id_, {**limits, **of_topic})

    def _find(self, topology: str, here: str, *, briefly: bool = False) -> tuple[Marker | None, int]:
        id_ = transactional_id(topology, self._sink, self._share)
        found = self._cluster.newest(self._topic, id_, briefly=briefly)
        if found.data is None:
            return None, found.partition
        marker = decode(found.data, f"topic {self._topic!r}, partition {found.partition}, key {id_!r},")
        if marker.cluster != here:
            raise MismatchError(
                f"sink {self._sink!r} is in Kafka cluster {marker.cluster!r}, and the one that answers at its address "
                f"is {here!r}: another cluster took its place, with a copy of topic {self._topic!r}. Nothing was sent: "
                "correct the address, or bring the cluster back"
            )
        return marker, found.partition

    def _settings(self) -> TopicSettings | None:
        """Ask for the settings of the marker topic; a take-over does, a txid goes by what was found then."""
        settings = self._known = self._cluster.settings([self._topic]).get(self._topic)
        if settings is not None and settings.cleanup != _COMPACTED:
            raise MismatchError(
                f"the marker topic {self._topic!r} of sink {self._sink!r} has cleanup.policy={settings.cleanup}, under "
                f"which Kafka deletes markers that are still needed; nothing was sent. Set it to {_COMPACTED!r}"
            )
        return settings


def no_marker(who: str) -> str:
    """Return what is said of a sink, or one of its producers, whose marker is gone."""
    return (
        f"{who} has no marker any more: its marker topic was emptied, or made anew. Nothing was sent: restore it, for "
        "without it nobody can tell what was sent"
    )


def owned(found: Marker | None, epoch: Epoch, name: str) -> Marker:
    """Return the newest marker, after checking that it is there and that no newer epoch has written it."""
    if found is None:
        raise MismatchError(no_marker(f"sink {name!r}"))
    check_epoch(found.epoch, epoch, name)
    return found
