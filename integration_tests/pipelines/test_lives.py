"""Pipelines over more than one run: a queue, a spout of one's own, another version, a rewind, another level."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from integration_tests.pipelines.desk import FIELDS, Desk, grouped, payments, rows
from trident import Aggregation, Collector, Count, InputRecord, Max, Split, Sum, Topology, reset
from trident.spouts import AckingSpout, FileSpout, FixedBatchSpout, Message, PythonSpout, SpoutContext
from trident.state import SqliteState, SqliteTable

RECORDS = payments(40, seed=5)


class Inbox(AckingSpout):
    """A folder as a queue: a file is a message, its name the id; who acks takes it away, who fails puts it aside."""

    schema = "account string, amount bigint"

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def open(self, context: SpoutContext) -> None:
        self.given: set[str] = set()

    def next_tuple(self) -> Message | None:
        for file in sorted(Path(self.folder).glob("*.json")):
            if file.name not in self.given:
                self.given.add(file.name)
                found = json.loads(file.read_text())
                return Message((found["account"], found["amount"]), file.name)
        return None

    def ack(self, id_: str | None) -> None:
        Path(self.folder, str(id_)).unlink()

    def fail(self, id_: str | None) -> None:
        file = Path(self.folder, str(id_))
        file.rename(file.with_suffix(".failed"))


def check(record: InputRecord, collector: Collector) -> None:
    """Take what is positive, fail the rest."""
    amount = record["amount"]
    assert isinstance(amount, int)
    if amount < 0:
        collector.fail(record, "negative")
        return
    collector.emit((record["account"], amount), anchors=[record])
    collector.ack(record)


def test_messages_of_a_queue_are_acked_when_they_count_and_failed_ones_do_not(desk: Desk) -> None:
    folder = desk.folder / "queue"
    folder.mkdir()
    for each in RECORDS:
        body = {"account": each.account, "amount": each.amount}
        (folder / f"{each.number:03d}.json").write_text(json.dumps(body))
    topology = Topology("queue")
    good = topology.stream("messages", Inbox(str(folder))).process(check, "account string, amount bigint")
    good.group_by("account").persistent_aggregate(SqliteState("sums"), n=Count(), total=Sum("amount"))
    desk.run(topology)
    by_account = sorted(grouped((each for each in RECORDS if each.amount >= 0), lambda each: each.account).items())
    expected = [(account, len(own), sum(each.amount for each in own)) for account, own in by_account]
    assert desk.ask("SELECT account, n, total FROM sums ORDER BY account") == expected
    left = sorted(file.name for file in folder.iterdir())
    assert left == [f"{each.number:03d}.failed" for each in RECORDS if each.amount < 0]


class Lines(PythonSpout):
    """The lines of a file: the number of a line is its position."""

    schema = "line string"
    max_records_per_batch = 3

    def __init__(self, path: str) -> None:
        self.path = path

    def identity(self) -> Mapping[str, str]:
        return {"path": self.path}

    def bounds(self) -> Mapping[int, tuple[int, int]]:
        return {0: (0, Path(self.path).read_bytes().count(b"\n"))}

    def read(self, partition: int, start: int, stop: int) -> Iterable[tuple[str]]:
        for line in Path(self.path).read_bytes().split(b"\n")[start:stop]:
            yield (line.decode(),)


def counting_words(path: Path) -> Topology:
    topology = Topology("words")
    lines = topology.stream("lines", Lines(str(path)))
    words = lines.flat_map(word=Split("line"))
    words.group_by("word").persistent_aggregate(SqliteState("words"), n=Count())
    return topology


def test_words_of_a_file_that_grows_between_two_runs(desk: Desk) -> None:
    file = desk.folder / "lines.txt"
    first, second = ["the cow", "the moon", "", "over the moon"], ["a cow again"]
    file.write_text("".join(f"{line}\n" for line in first))
    desk.run(counting_words(file))
    with file.open("a") as open_file:
        open_file.write("".join(f"{line}\n" for line in second))
    desk.run(counting_words(file))
    words = grouped(" ".join(first + second).split(), lambda word: word)
    assert desk.ask("SELECT word, n FROM words ORDER BY word") == sorted(
        (word, len(all_)) for word, all_ in words.items()
    )


def version(inbox: Path, number: int) -> Topology:
    """Return a topology over a folder; its second version knows the largest amount as well."""
    topology = Topology("versions")
    stream = topology.stream("payments", FileSpout(str(inbox), "account string, amount bigint", format="csv"))
    aggregates: dict[str, Aggregation] = {"total": Sum("amount")}
    if number == 2:
        aggregates["largest"] = Max("amount")
    stream.group_by("account").persistent_aggregate(SqliteState("sums"), **aggregates)
    return topology


def put(inbox: Path, name: str, records: Iterable[tuple[str, int]]) -> None:
    inbox.mkdir(exist_ok=True)
    lines = "".join(f"{account},{amount}\n" for account, amount in records)
    (inbox / name).write_text("account,amount\n" + lines)


def test_a_second_version_with_one_aggregate_more_goes_on(desk: Desk) -> None:
    inbox = desk.folder / "in"
    put(inbox, "1.csv", [("ann", 90), ("bob", 5)])
    desk.run(version(inbox, 1))
    put(inbox, "2.csv", [("ann", 7), ("ann", 3), ("cyd", 1)])
    desk.run(version(inbox, 2))
    found = desk.ask("SELECT account, total, largest FROM sums ORDER BY account")
    assert found == [("ann", 100, 7), ("bob", 5, None), ("cyd", 1, 1)]  # what is new holds what came after


def test_a_rewind_counts_all_anew(desk: Desk) -> None:
    inbox = desk.folder / "in"
    put(inbox, "1.csv", [("ann", 90), ("bob", 5)])
    put(inbox, "2.csv", [("ann", 7)])
    desk.run(version(inbox, 1))
    reset(version(inbox, 2), desk.ledger, states="clear", start="earliest")
    desk.run(version(inbox, 2))
    found = desk.ask("SELECT account, total, largest FROM sums ORDER BY account")
    assert found == [("ann", 97, 90), ("bob", 5, 5)]


def test_at_least_once_counts_each_once_where_nothing_fails(desk: Desk) -> None:
    topology = Topology("views", level="at_least_once")
    stream = topology.stream("views", FixedBatchSpout(FIELDS, rows(RECORDS), max_records_per_batch=11))
    stream.group_by("merchant").persistent_aggregate(SqliteState("views"), n=Count(), total=Sum("amount"))
    stream.project("number").to_table(SqliteTable("numbers"))
    desk.run(topology)
    by_merchant = sorted(grouped(RECORDS, lambda each: each.merchant).items())
    expected = [(merchant, len(own), sum(each.amount for each in own)) for merchant, own in by_merchant]
    assert desk.ask("SELECT merchant, n, total FROM views ORDER BY merchant") == expected
    assert desk.ask("SELECT number FROM numbers ORDER BY number") == [(each.number,) for each in RECORDS]
