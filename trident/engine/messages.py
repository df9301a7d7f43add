"""What becomes of single messages: an attempt's trees, and what its operations have said of them."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from trident.base.errors import ConfigurationError, RetryableError
from trident.base.failure import Failure
from trident.base.ranges import Edge
from trident.base.trees import Ids, TreeWord, first_edges, roots_of
from trident.coordinators.acking.trees import Ackers
from trident.coordinators.batches.processor import MessagesFailedError
from trident.graph.rooted import Trees
from trident.spouts.base import Source, TakesMessagesBack

_log = logging.getLogger("trident.engine")


@dataclass(frozen=True, slots=True)
class Messages:
    """The messages of a stream in one attempt: their ids, and the roots of their trees, in the same order."""

    source: TakesMessagesBack
    edges: tuple[Edge, ...]
    ids: tuple[str, ...]
    roots: Ids

    @classmethod
    def of(cls, source: TakesMessagesBack, stream: int, edges: tuple[Edge, ...]) -> Messages:
        """Return those of some ranges."""
        roots = [roots_of(stream, edge.range.start, edge.range.stop) for edge in edges]
        return cls(source, edges, _ids(source, edges), np.concatenate(roots))

    def fail(self, reasons: Mapping[str, Failure]) -> None:
        """Tell the source, unless its positions are other messages' by now: this attempt is none any more then."""
        if self.ids == _ids(self.source, self.edges):
            self.source.fail_messages(reasons)


class MessageTrees:
    """Tracks an attempt's messages; called from several threads at once, keeps nothing of an attempt."""

    def __init__(self, trees: Trees, sources: Mapping[str, Source], ackers: int) -> None:
        self._ackers = ackers
        self._streams: dict[str, tuple[TakesMessagesBack, int]] = {}
        self._taking = {name: source for name, source in sources.items() if isinstance(source, TakesMessagesBack)}
        for name, number in trees.streams.items():
            source = sources[name]
            if not isinstance(source, TakesMessagesBack):  # else what fails there would be said to nobody, and count
                raise ConfigurationError(
                    f"stream {name!r}: its spout says that it takes messages back, and its source "
                    f"({type(source).__name__}) can't be told which; nothing was planned"
                )
            self._streams[name] = (source, number)

    def begin(self, edges: Mapping[str, tuple[Edge, ...]]) -> Mapping[str, Messages]:
        """Return the messages of an attempt that is about to be processed, by stream."""
        return {
            name: Messages.of(source, number, edges[name])
            for name, (source, number) in self._streams.items()
            if edges.get(name)
        }

    def end(self, begun: Mapping[str, Messages], words: Sequence[TreeWord]) -> None:
        """Raise `MessagesFailedError` unless each message is processed; the others' sources are told before."""
        if len({(word.place, word.task) for word in words}) < len(words):
            raise RetryableError("a task has said two things of its messages; nothing of the batch was applied")
        tell_of_misuse(words)
        if not begun:
            return
        failed = {root: reason for word in words for root, reason in word.failed}
        ackers = Ackers(self._ackers)
        for messages in begun.values():
            ackers.begin(messages.roots, first_edges(messages.roots))
        for word in words:
            if word.open:
                roots, values = np.array(word.open, dtype=np.uint64).T
                ackers.ack(roots, values)
        said: dict[str, str] = {}
        for name, messages in begun.items():
            # all that a message's source gave was read to its end, and whoever looks after no acks has acked it
            ackers.ack(messages.roots, first_edges(messages.roots))
            reasons = _reasons(messages, ackers, failed)
            if reasons:
                messages.fail(reasons)
                said[name] = _said(name, messages, reasons, failed)
        if said:
            for name, source in self._taking.items():
                if name not in said:
                    source.fail_messages({})
            raise MessagesFailedError(
                f"{'; '.join(said.values())}. They go back to where they came from. Nothing of the batch was applied: "
                "what else is in it is tried again without them and with nothing new. What its source gives again is "
                "tried again behind that, each time that it is given, until the source puts it aside or no operation "
                "fails it"
            )


def _ids(source: TakesMessagesBack, edges: tuple[Edge, ...]) -> tuple[str, ...]:
    return tuple(id_ for edge in edges for id_ in source.ids(edge.range))


def _reasons(messages: Messages, ackers: Ackers, failed: Mapping[int, str]) -> dict[str, Failure]:
    is_processed = ackers.processed(messages.roots)
    reasons: dict[str, Failure] = {}
    for id_, root, is_in in zip(messages.ids, messages.roots.tolist(), is_processed.tolist(), strict=True):
        if root in failed:
            reasons[id_] = Failure.OPERATION
        elif not is_in:
            reasons[id_] = Failure.NOT_ACKED
    return reasons


_NEVER: Final = (
    " (all that there were: a function given to process has to call collector.ack(record), or fail, for each record, "
    "in finish at the latest)"
)


def _said(name: str, messages: Messages, reasons: Mapping[str, Failure], failed: Mapping[int, str]) -> str:
    counts = Counter(reasons.values())
    whys = Counter(failed[root] for root in messages.roots.tolist() if failed.get(root))
    why = f" ({whys.most_common(1)[0][0]!r})" if whys else ""
    by_operation = f"{counts[Failure.OPERATION]:,} that an operation has failed{why}"
    never = _NEVER if counts[Failure.NOT_ACKED] == len(messages.ids) else ""
    first = next(id_ for id_ in messages.ids if id_ in reasons)
    left = f"{counts[Failure.NOT_ACKED]:,} that were left without an ack{never}"
    parts = [part for part, reason in ((by_operation, Failure.OPERATION), (left, Failure.NOT_ACKED)) if counts[reason]]
    given = f"{len(messages.ids):,} messages of the stream {name!r}"
    return f"of {given} there are {' and '.join(parts)}; the first is {first!r}"


def tell_of_misuse(words: Sequence[TreeWord]) -> None:
    """Log what functions did with a collector that is no way to use it, how often, and what comes of it."""
    counts: Counter[str] = Counter()
    for word in words:
        counts.update(dict(word.misused))
    for what, count in counts.items():
        done, _, effect = what.partition(": ")
        _log.warning("a function given to process %s, %s times in a batch: %s", done, f"{count:,}", effect)
