"""What a sink keeps in Kafka beside what it has sent: where it stands, and which epoch may write it. Pure.

The marker of a txid is written in the Kafka transaction that its rows are written in, to a compacted topic: whoever
reads the newest one back knows whether a transaction took effect whose answer was lost.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace

from trident.base.digest import Digest
from trident.base.errors import MismatchError
from trident.base.identity import Epoch, Owner
from trident.state.positions import Position

_FORMAT = 1


@dataclass(frozen=True, slots=True)
class Sent:
    """What one txid has brought to the topics: how many records, and the digest of their staged writes."""

    count: int
    digest: Digest


NOTHING_SENT = Sent(0, Digest())


@dataclass(frozen=True, slots=True)
class Marker:
    """Where one sink stands in one cluster; `position` is None until it is registered."""

    owner: Owner
    epoch: Epoch
    cluster: str
    """The cluster's own id: a copy of the topic elsewhere is another sink's past."""
    position: Position | None = None
    sent: Sent = NOTHING_SENT
    used_up: int = 0
    """Of one that was let go of: the txid at which it stood. Whoever is born here begins at it, or above."""

    def fenced(self, owner: Owner, epoch: Epoch) -> Marker:
        """Return it as a new epoch writes it: the sink stays where it stands."""
        kept = owner if self.position is None else self.owner
        return replace(self, owner=kept, epoch=epoch)

    def moved(self, position: Position, epoch: Epoch, sent: Sent = NOTHING_SENT) -> Marker:
        """Return it as it is once the sink stands there."""
        return replace(self, owner=position.owner, epoch=epoch, position=position, sent=sent, used_up=0)


def encode(marker: Marker) -> bytes:
    """Return what lies in the topic: JSON that a person can read."""
    position = marker.position
    word: dict[str, object] = {
        "format": _FORMAT,
        "topology": marker.owner.topology,
        "incarnation": marker.owner.incarnation,
        "epoch": marker.epoch.number,
        "token": marker.epoch.token,
        "cluster": marker.cluster,
    }
    if position is not None:
        word |= {"txid": position.txid, "attempt": position.attempt, "birth_txid": position.birth_txid}
        digest = marker.sent.digest
        word |= {"count": marker.sent.count, "digest": [digest.count, digest.low, digest.high, digest.xor]}
    elif marker.used_up:
        word |= {"used_up": marker.used_up}
    return json.dumps(word, ensure_ascii=False).encode()


def decode(data: bytes, where: str) -> Marker:
    """Return the marker that `encode` made into bytes; raises MismatchError for anything else, naming `where`."""
    try:
        word = json.loads(data)
        if int(word["format"]) != _FORMAT:
            raise MismatchError(
                f"{where} holds a marker in format {word['format']}, which a newer version wrote; this one knows "
                f"{_FORMAT}. Nothing was changed: run that version"
            )
        owner = Owner(str(word["topology"]), str(word["incarnation"]))
        position, sent = None, NOTHING_SENT
        if "txid" in word:
            position = Position(owner, int(word["txid"]), int(word["attempt"]), int(word["birth_txid"]))
            sent = Sent(int(word["count"]), Digest(*map(int, word["digest"])))
        epoch, used_up = Epoch(int(word["epoch"]), str(word["token"])), int(word.get("used_up", 0))
        return Marker(owner, epoch, str(word["cluster"]), position, sent, used_up)
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise MismatchError(
            f"{where} holds no marker of this library under a key that is its own ({type(error).__name__}); nothing "
            "was changed. Keep everybody else from writing to that topic. The marker still lies below that record, "
            "until compaction takes it: read it with isolation.level=read_committed (any other reader shows what was "
            "aborted, too), send its bytes again, under the same key to the same partition, and start again; it goes "
            "on as if nothing had been. Where it is gone, send a record of this key without a value to "
            "that partition: the next start says which reset goes on without a marker"
        ) from None


def transactional_id(topology: str, sink: str, share: int | None = None) -> str:
    """Return the id under which the sink's transactions run, the same over restarts, and no other sink's.

    It is the key of its markers too. A dot in a name is written as %2E, which no name holds. `share` is the number of
    one of several producers.
    """
    names = ".".join(name.replace("%", "%25").replace(".", "%2E") for name in (topology, sink))
    return names if share is None else f"{names}.{share}"
