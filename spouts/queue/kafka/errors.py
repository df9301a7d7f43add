"""Errors of a Kafka consumer group, named by what the caller must do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from confluent_kafka import KafkaError

from trident.base.errors import FatalError, RetryableError, TridentError
from trident.spouts.queue.acking import StreamProgress
from trident.spouts.queue.kafka.offsets import TopicPartition

_KEPT: Final = "Nothing was committed by this: what was read and not acked is read again"
_AWAY: Final = frozenset(
    {
        KafkaError._ALL_BROKERS_DOWN,
        KafkaError._RESOLVE,
        KafkaError._TIMED_OUT,
        KafkaError._TRANSPORT,
        KafkaError._WAIT_COORD,
        KafkaError.REQUEST_TIMED_OUT,
        KafkaError.BROKER_NOT_AVAILABLE,
        KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
        KafkaError.COORDINATOR_NOT_AVAILABLE,
        KafkaError.NOT_COORDINATOR,
        KafkaError.LEADER_NOT_AVAILABLE,
        KafkaError.NOT_LEADER_FOR_PARTITION,
        KafkaError.REPLICA_NOT_AVAILABLE,
        KafkaError.NETWORK_EXCEPTION,
    }
)
_MOVED: Final = frozenset(
    {
        KafkaError._MAX_POLL_EXCEEDED,
        KafkaError._ASSIGNMENT_LOST,
        KafkaError._NO_OFFSET,
        KafkaError.ILLEGAL_GENERATION,
        KafkaError.REBALANCE_IN_PROGRESS,
        KafkaError.UNKNOWN_MEMBER_ID,
    }
)
_DENIED: Final = frozenset(
    {
        KafkaError._AUTHENTICATION,
        KafkaError._SSL,
        KafkaError.CLUSTER_AUTHORIZATION_FAILED,
        KafkaError.GROUP_AUTHORIZATION_FAILED,
        KafkaError.SASL_AUTHENTICATION_FAILED,
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
    }
)
_MISSING: Final = frozenset(
    {KafkaError._UNKNOWN_TOPIC, KafkaError._UNKNOWN_PARTITION, KafkaError.UNKNOWN_TOPIC_OR_PART}
)
_LOST: Final = frozenset({KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE})


@dataclass(frozen=True, slots=True)
class GroupPlace:
    """Which group reads what where, as errors name it."""

    brokers: str
    topics: tuple[str, ...]
    group: str

    def __str__(self) -> str:
        return f"topics {', '.join(self.topics)}, group {self.group!r} at Kafka {self.brokers}"


def is_away(error: KafkaError) -> bool:
    """Tell whether the client goes on by itself once a broker is back."""
    return error.code() in _AWAY


def is_moved(error: KafkaError) -> bool:
    """Tell whether it says that partitions are another member's, or are about to be."""
    return error.code() in _MOVED


def is_denied(error: KafkaError) -> bool:
    """Tell whether the login, or a right, was refused."""
    return error.code() in _DENIED


def classify(error: KafkaError, place: GroupPlace, where: str = "") -> TridentError:
    """Return what an error means to the caller; `where` names a partition.

    One that is not known is fatal: going on after what nobody understood could lose data.
    """
    at = f"{place}{': ' + where if where else ''}"
    if is_denied(error):
        return FatalError(
            f"{at}: Kafka has refused the login or a right ({error.name()}). {_KEPT}. Check client_options; the rights "
            "that are needed: Read and Describe on the topics, Read on the group"
        )
    if error.code() in _MISSING:
        return FatalError(
            f"{at}: there is no such topic ({error.name()}). If it was there before, it was deleted with all that was "
            "not acked; what is done stays done. Create it, or correct the name; the spout creates none"
        )
    if error.code() in _LOST:
        return FatalError(
            f"{at}: the log does not hold the group's position ({error.name()}): what it had there was deleted before "
            "it was acked, or the topic was cut or made again. Nothing was skipped. Move the group with "
            "kafka-consumer-groups --reset-offsets, where the run is stopped, and keep records longer (retention)"
        )
    if is_away(error) or is_moved(error) or error.retriable():
        return RetryableError(f"{at}: the brokers are away, or can't answer now ({error.name()}). {_KEPT}")
    return FatalError(f"{at}: Kafka has refused what was asked ({error.name()}). {_KEPT}")


def exchanged(place: GroupPlace, topic: str) -> FatalError:
    """Return the error for a topic that is another one of the same name."""
    return FatalError(
        f"{place}: the topic {topic!r} was deleted and made again while it was read, and what was not acked of the old "
        "one is gone with it; what is done stays done. Start again to read the new one, which begins where `start` says"
    )


def smaller_horizon(place: GroupPlace, before: int, now: int) -> FatalError:
    """Return the error for a stream that remembers fewer records than its processes before had to."""
    return FatalError(
        f"{place}: the process before remembered the last {before:,} records that are done, and has not ended by "
        f"itself; this one would remember {now:,}. Up to {before // 2:,} may be done above the group's positions: they "
        "are given again, and those that are forgotten would count twice. Nothing was read. Start with a horizon of "
        f"{before} in the spout's class, end that run by SIGTERM or Ctrl-C when no record is held up, and make it "
        "smaller then"
    )


def ledger_behind(
    place: GroupPlace, passed: Mapping[TopicPartition, StreamProgress], now: StreamProgress, known: Sequence[str]
) -> FatalError:
    """Return the error for a ledger that has less of a stream done than when these partitions were committed."""
    then = max(passed.values(), key=lambda each: (each.birth, each.done))
    since = "" if then.birth == now.birth else f"had been reset after txid {then.birth}, which it does not know, and "
    named = _as_options(passed)
    oldest = f", of which {known[0]} was done first" if known else ""
    return FatalError(
        f"{place}: the ledger has {now.done:,} records of this stream done, and {since}had {then.done:,} when the "
        "group's positions were committed: it was put back to an earlier moment (a backup, or a replica that was "
        "behind). What was acked since is in no result of it, and what these positions have passed would not be read "
        "again. Nothing was read or changed. If the states are of another moment than the ledger, put that right "
        "first. Then, while no run is "
        f"there, say which: kafka-consumer-groups --reset-offsets --execute --group {place.group} {named} "
        "--to-datetime MOMENT has it given again as far as Kafka still holds it, from a moment (UTC, "
        "2026-01-31T12:00:00.000) on so early that all that was sent before it was done at the moment that the ledger "
        f"was put back to; what comes again counts once if it is among the {len(known):,} records that are known"
        f"{oldest}, and twice if it was done before these. The same with --to-current in the place of --to-datetime "
        "MOMENT goes on behind it, and leaves it out"
    )


def lost_position(
    place: GroupPlace, lost: Mapping[TopicPartition, int], forgotten: Sequence[TopicPartition] = ()
) -> FatalError:
    """Return the error for a group that has lost positions; `lost`: up to where records are known as done.

    `forgotten` are partitions without a position of which nothing is remembered: they may have been read as well.
    """
    tool = f"kafka-consumer-groups --reset-offsets --execute --group {place.group}"
    ((first, done), *more) = sorted(lost.items())
    if more:
        names = ", ".join(f"{each.topic}:{each.partition}" for each in sorted(lost))
        lines = " ".join(f"{each.topic},{each.partition},{known + 1}" for each, known in sorted(lost.items()))
        known = f"records of each are done: {names}"
        way = f"{tool} --from-file FILE, which has a line for each: {lines}"
    else:
        known = f"records up to offset {done} of it are done"
        way = f"{tool} --topic {first.topic}:{first.partition} --to-offset {done + 1}"
    where = f"{len(lost):,} partitions" if more else f"{first.topic}:{first.partition}"
    return FatalError(
        f"{place}: the group has no position in {where} any more, and {known}: the group was deleted, or the brokers "
        "have let go of its positions (offsets.retention.minutes). Nothing was read. Say where it goes on, while no "
        f"run is there: {way} goes on behind them, and leaves out what lies below and was not done; an offset below "
        f"gives again what is done, of which only the last ones are known{_also(tool, forgotten)}"
    )


def _also(tool: str, forgotten: Sequence[TopicPartition]) -> str:
    if not forgotten:
        return ""
    return (
        f". It has none in {_as_topics(forgotten)} either, of which nothing is remembered, whatever was done of it. "
        "Say it of that too, or it is read from its beginning, and what was done counts twice: "
        f"{tool} {_as_options(forgotten)} with --to-datetime MOMENT (what was sent since, UTC, "
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
        "was read or skipped. Say where it goes on, while no run is there: kafka-consumer-groups --reset-offsets "
        f"--execute --group {place.group} --topic {topic} with --to-earliest (all that is there) or --to-latest (what "
        "comes from now on)"
    )
