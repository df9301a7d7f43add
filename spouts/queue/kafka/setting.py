"""Errors that a person mends by setting a group's positions, each with the command and what it does to the data."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from trident.base.errors import FatalError
from trident.spouts.queue.acking import StreamProgress
from trident.spouts.queue.kafka.errors import GroupPlace
from trident.spouts.queue.kafka.offsets import TopicPartition


def ledger_behind(
    place: GroupPlace,
    passed: Mapping[TopicPartition, StreamProgress],
    now: StreamProgress,
    known: Sequence[str],
    moved: Collection[TopicPartition] = (),
) -> FatalError:
    """Return the error for a ledger that has less of a stream done than when these partitions were committed.

    `moved` are those whose positions were committed in another topic of the name; `known` are records of the others.
    """
    named = _as_options(passed)
    copied = [each for each in passed if each in moved]
    return FatalError(
        f"{place}: the ledger has {now.done:,} records of this stream done{_then(passed.values(), now)}: it was put "
        "back to an earlier moment (a backup, or a replica that was behind). "
        "What was acked since is in no result of it, and what these positions have passed would not be read "
        f"again. {_what_moved(copied)}Nothing was read or changed. If the states are of another moment than the "
        f"ledger, put that right first. Then, while no run is there, say which: {place.setting} {named} --to-datetime "
        "MOMENT has it given again as far as Kafka still holds it, from a moment (UTC, 2026-01-31T12:00:00.000) on so "
        "early that all that was sent before it was done at the moment that the ledger was put back to; "
        f"{_what_counts_twice(known, copied, len(passed))}. The same with --to-current in the place of --to-datetime "
        f"MOMENT goes on behind it, and leaves it out{_made_again(place, copied)}"
    )


def _what_moved(copied: Collection[TopicPartition]) -> str:
    if not copied:
        return ""
    return (
        f"The positions in {_as_topics(copied)} were committed in another topic of that name besides: it is the copy "
        "of one (a mirrored or restored cluster), or was made again, and its records have other ids than those that "
        "are done. "
    )


def _what_counts_twice(known: Sequence[str], copied: Collection[TopicPartition], of: int) -> str:
    """Say what of that which is given again is told from what is new, by its id."""
    if len(copied) == of:
        return "what was done and comes again counts twice, for no id tells it: choose none earlier than that needs"
    oldest = f", of which {known[0]} was done first" if known else ""
    copies = f", and whenever it was done if it is of {_as_topics(copied)}" if copied else ""
    return (
        f"what comes again counts once if it is among the {len(known):,} records that are known{oldest}, and twice if "
        f"it was done before these{copies}"
    )


def _made_again(place: GroupPlace, copied: Collection[TopicPartition]) -> str:
    if not copied:
        return ""
    return (
        f". Where {_as_topics(copied)} was made again, and is no copy, {place.setting} {_as_options(copied)} "
        "--to-earliest gives all that is there"
    )


def _then(passed: Iterable[StreamProgress], now: StreamProgress) -> str:
    """Say what the group's positions note, that the ledger has not."""
    then = max(passed, key=lambda each: (each.birth, each.done, each.txid))
    if then.birth < now.birth:
        return (
            f" since its reset behind txid {now.birth}, but the group's positions were committed before any such "
            f"reset, when {then.done:,} were, up to txid {then.txid}"
        )
    since = f"had been reset after txid {then.birth}, which it does not know, and " if then.birth > now.birth else ""
    return f", and {since}had {then.done:,} when the group's positions were committed"


def lost_position(
    place: GroupPlace, lost: Mapping[TopicPartition, int], forgotten: Sequence[TopicPartition] = ()
) -> FatalError:
    """Return the error for a group that has lost positions; `lost`: up to where records are known as done.

    `forgotten` are partitions without a position of which nothing is remembered: they may have been read as well.
    """
    ((first, done), *more) = sorted(lost.items())
    if more:
        names = ", ".join(f"{each.topic}:{each.partition}" for each in sorted(lost))
        lines = " ".join(f"{each.topic},{each.partition},{known + 1}" for each, known in sorted(lost.items()))
        known = f"records of each are done: {names}"
        way = f"{place.setting} --from-file FILE, which has a line for each: {lines}"
    else:
        known = f"records up to offset {done} of it are done"
        way = f"{place.setting} --topic {first.topic}:{first.partition} --to-offset {done + 1}"
    where = f"{len(lost):,} partitions" if more else f"{first.topic}:{first.partition}"
    return FatalError(
        f"{place}: the group has no position in {where} any more, and {known}: the group was deleted, or the brokers "
        "have let go of its positions (offsets.retention.minutes). Nothing was read. Say where it goes on, while no "
        f"run is there: {way} goes on behind them, and leaves out what lies below and was not done; an offset below "
        f"gives again what is done, of which only the last ones are known{_also(place, forgotten)}"
    )


def _also(place: GroupPlace, forgotten: Sequence[TopicPartition]) -> str:
    if not forgotten:
        return ""
    return (
        f". It has none in {_as_topics(forgotten)} either, of which nothing is remembered, whatever was done of it. "
        "Say it of that too, or it is read from its beginning, and what was done counts twice: "
        f"{place.setting} {_as_options(forgotten)} with --to-datetime MOMENT (what was sent since, UTC, "
        "2026-01-31T12:00:00.000), with --to-latest (what comes from now on) or with --to-earliest"
    )


def _as_options(partitions: Iterable[TopicPartition]) -> str:
    return " ".join(f"--topic {named}" for named in _named(partitions))


def _as_topics(partitions: Iterable[TopicPartition]) -> str:
    return ", ".join(_named(partitions))


def _named(partitions: Iterable[TopicPartition]) -> list[str]:
    """Return partitions as Kafka's tool has them, each topic once."""
    of_topics: dict[str, list[str]] = {}
    for topic, number in sorted(partitions):
        of_topics.setdefault(topic, []).append(str(number))
    return [f"{topic}:{','.join(numbers)}" for topic, numbers in of_topics.items()]


def never_placed(place: GroupPlace, topic: str) -> FatalError:
    """Return the error for a topic without any position where its stream has begun: `start` may not leave it out."""
    return FatalError(
        f'{place}: the group has no position in {topic}, and start="latest" is for a stream that begins: this one has '
        "begun. The topic was made again, the group was deleted, or the brokers have let go of its positions. Nothing "
        f"was read or skipped. Say where it goes on, while no run is there: {place.setting} --topic {topic} with "
        "--to-earliest (all that is there) or --to-latest (what comes from now on)"
    )


def of_another_topic(place: GroupPlace, partitions: Sequence[TopicPartition]) -> FatalError:
    """Return the error for positions that were committed in another topic of the name: whether they hold, nobody knows.

    Brokers let go of positions with their topic, so it is another cluster that has been given them, as a rule.
    """
    named = _as_options(partitions)
    return FatalError(
        f"{place}: the group's positions in {_as_topics(partitions)} were committed in another topic of that name: it "
        "was made again, or it is the copy of one (a mirrored or restored cluster), whose records have other ids than "
        "those that are done. Nothing was read or changed. Say where it goes on, while no run is there: "
        f"{place.setting} {named} --to-current goes on at the positions, which is for a copy: what was done above them "
        "comes again under other ids and counts twice, so look first whether they were copied late (a mirror may lag). "
        "The same with --to-earliest has all that a new one has"
    )
