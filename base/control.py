"""The control column: how words about a batch travel as rows of the job itself.

A reading job's frame has one extra nullable string column. It is null for a record; a row in which
it is set carries no record but a word from a task to the coordinator: what was read of a range, a
record that did not decode, rows that were staged, what an audit has counted, or what was not acked.
Operations pass such rows through untouched, groupings keep them apart (each is a group of its own), so a
successful action returns exactly the words of the tasks whose output it used: retries, speculation and
zombies can't add or lose any.
"""

from __future__ import annotations

import base64
import json
import uuid
from dataclasses import dataclass

from trident.base.audit import Accounts, AuditWord
from trident.base.digest import Digest
from trident.base.ranges import BadRecordRow, PartitionId, RangeManifest
from trident.base.trees import TreeWord
from trident.base.writes import WriteManifest

CONTROL = "__trident"

"""Name of the control column; no field of a stream may have it."""


@dataclass(frozen=True, slots=True)
class Undecoded:
    """A quick read met records that only the careful way can decode: the job is to be run again that way."""

    count: int


@dataclass(frozen=True, slots=True)
class BadRecordWord:
    """A record that did not decode, with the edge that it was read under: two spouts may read one topic."""

    edge: int
    record: BadRecordRow


ControlRow = RangeManifest | BadRecordWord | WriteManifest | Undecoded | AuditWord | TreeWord


def encode(row: ControlRow) -> str:
    """Return the text that goes into the control column."""
    match row:
        case RangeManifest():
            partition = [row.id.topic, row.id.partition] if row.id else None
            word = ["range", row.edge, partition, row.position, _digest(row.digest)]
            return json.dumps([*word, row.size_bytes, row.newest])
        case BadRecordWord():
            bad = row.record
            where = [row.edge, bad.id.topic, bad.id.partition, bad.offset, bad.timestamp]
            return json.dumps(["bad", *where, bad.reason, _to_text(bad.key), _to_text(bad.value)])
        case WriteManifest():
            return json.dumps(["write", row.state, row.write_id, _digest(row.digest)])
        case Undecoded():
            return json.dumps(["undecoded", row.count, uuid.uuid4().hex])
        case AuditWord():
            counted = [_digest(each) for each in (row.accounts.passed, row.accounts.done, row.accounts.made)]
            # two tasks may have counted the same, and a text that comes twice was read twice
            return json.dumps(["audit", row.step, *counted, uuid.uuid4().hex])
        case TreeWord():
            return json.dumps(["tree", row.place, row.task, row.open, row.failed, row.misused])


def decode(text: str) -> ControlRow:
    """Return the word that `encode` made into text; any other text raises ValueError."""
    kind, *rest = json.loads(text)
    if kind == "range":
        edge, partition, position, digest, size_bytes, newest = rest
        id_ = PartitionId(partition[0], partition[1]) if partition else None
        return RangeManifest(edge, id_, position, Digest(*digest), size_bytes, newest)
    if kind == "bad":
        edge, topic, number, offset, timestamp, reason, key, value = rest
        record = BadRecordRow(PartitionId(topic, number), offset, timestamp, reason, _to_bytes(key), _to_bytes(value))
        return BadRecordWord(edge, record)
    if kind == "write":
        state, write_id, digest = rest
        return WriteManifest(state, write_id, Digest(*digest))
    if kind == "undecoded":
        return Undecoded(rest[0])
    if kind == "audit":
        step, *counted, _ = rest
        return AuditWord(step, Accounts(*(Digest(*each) for each in counted)))
    if kind == "tree":
        place, task, *said = rest
        return TreeWord(place, task, *(tuple((first, second) for first, second in each) for each in said))
    raise ValueError(f"unknown control row of kind {kind!r}")


def audited_by(steps: str) -> str:
    """Return how the texts of an audit's words begin, of steps whose names begin so."""
    return json.dumps(["audit", steps])[:-2]


def said_of_trees_by(run: str) -> str:
    """Return how the texts of words about trees begin, of operations whose places begin so."""
    return json.dumps(["tree", f"{run} "])[:-2]


def _digest(digest: Digest) -> list[int]:
    return [digest.count, digest.low, digest.high, digest.xor]


def _to_text(data: bytes | None) -> str | None:
    return None if data is None else base64.b64encode(data).decode("ascii")


def _to_bytes(text: str | None) -> bytes | None:
    return None if text is None else base64.b64decode(text)
