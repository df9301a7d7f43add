"""A ledger that was put back behind its group's positions is noticed, and no other ledger is taken for one."""

from __future__ import annotations

import random
import re
import shlex
from collections.abc import Sequence
from typing import cast

import pytest
from confluent_kafka import Consumer, KafkaError
from confluent_kafka import TopicPartition as Place

from tests.spouts.queue.test_kafka_member import Client
from trident.base.errors import FatalError
from trident.spouts.base import StartAt
from trident.spouts.queue.acking import StreamProgress
from trident.spouts.queue.kafka.commits import GroupCommits
from trident.spouts.queue.kafka.errors import GroupPlace
from trident.spouts.queue.kafka.exposed import ExposedRecords
from trident.spouts.queue.kafka.member import GroupMember
from trident.spouts.queue.kafka.notes import horizon_in, is_of_another_topic, note_of, progress_in
from trident.spouts.queue.kafka.offsets import TopicPartition, id_of
from trident.spouts.queue.kafka.standing import Remembered, require_placed, require_remembered

LIFE = "0123456789abcdef"
GROUP = GroupPlace("b", ("t", "u"), "g")
NO_IDS = {"t": "", "u": ""}
Done = list[tuple[TopicPartition, int]]


class Brokers(Client):
    """Keep notes beside positions; what was sent when a process dies is carried out or not."""

    def __init__(self, rng: random.Random, logs: list[list[int]]) -> None:
        super().__init__(rng, logs, [60] * len(logs))
        self.notes: dict[int, str] = {}

    def take_note(self, error: KafkaError | None, places: Sequence[Place]) -> None:
        if error is None:
            self.notes.update({place.partition: place.metadata or "" for place in places})

    def commit(self, offsets: list[Place], asynchronous: bool = True) -> list[Place] | None:
        if not asynchronous:
            self.settle()
            self.take_note(None, offsets)
        return super().commit(offsets, asynchronous)

    def committed(self, places: Sequence[Place], timeout: float) -> list[Place]:
        found = super().committed(places, timeout)
        return [Place("t", each.partition, each.offset, self.notes.get(each.partition, "")) for each in found]

    def settle(self) -> None:
        """Carry out what was sent, or refuse it: by the end of a rebalance nothing of before comes any more."""
        for error, places in self.answers:
            if self.rng.random() < 0.5 and error is None:
                self.take_note(None, places)
                self.positions.update({place.partition: place.offset for place in places})
        self.answers = [(KafkaError(KafkaError.ILLEGAL_GENERATION), places) for _, places in self.answers]

    def lose_the_process(self) -> None:
        self.settle()
        self.answers.clear()
        self.paused.clear()


class Stream:
    """What a coordinator does with the records of one process after the other, over one ledger."""

    def __init__(self, rng: random.Random, client: Brokers, horizon: int) -> None:
        self.rng, self.client, self.horizon = rng, client, horizon
        self.done: Done = []
        self.kept: list[tuple[Done, dict[int, int]]] = []

    @property
    def progress(self) -> StreamProgress:
        return StreamProgress(LIFE, 0, len(self.done))

    def known(self) -> Done:
        return self.done[-self.horizon :]

    def begin(self) -> None:
        """Start a process; raises what its member does."""
        known = tuple(id_of(*place, "") for place in self.known())
        member = self.member = GroupMember({}, GroupPlace("b", ("t",), "g"), StartAt.EARLIEST)
        member._consumer = cast(Consumer, self.client)
        member._topics._look_at = float("inf")
        self.all = [Place("t", number) for number in range(len(self.client.logs))]
        partitions = [TopicPartition("t", each.partition) for each in self.all]
        member._unbegun = member._look_where_it_begins(partitions, Remembered(self.horizon, known, self.progress))
        member._exposed = ExposedRecords(self.horizon, self.known())
        member._commits = GroupCommits(member._place, member._flight, member._exposed, {}, self.progress)
        self.client.hear = self.heard
        self.under_way: Done = []
        member._assigned(member._consumer, self.all)

    def heard(self, error: KafkaError | None, places: Sequence[Place]) -> None:
        self.client.take_note(error, places)
        self.member._heard_of_commit(error, places)

    def step(self) -> None:
        draw = self.rng.random()
        if draw < 0.6:
            self.take()
        elif draw < 0.9 and self.under_way:
            self.finish_batch()
        elif draw < 0.92:
            self.client.settle()
            self.member._revoked(self.member._consumer, self.all)
            self.member._assigned(self.member._consumer, self.all)
        elif draw < 0.94:
            self.kept.append((list(self.done), dict(self.client.positions)))
        elif draw < 0.96:
            self.member._commits._due_at = 0.0
        elif draw < 0.97:
            self.client.lose_the_process()
            self.begin()

    def take(self) -> None:
        found = self.member.take()
        if found is None:
            return
        place = TopicPartition("t", cast(int, found.partition())), cast(int, found.offset())
        if place in self.known():
            self.member.reached(self.progress)
            self.member.done(*place)
        elif place not in self.under_way:
            self.under_way.append(place)

    def finish_batch(self) -> None:
        batch = self.rng.sample(self.under_way, self.rng.randint(1, len(self.under_way)))
        self.under_way = [place for place in self.under_way if place not in batch]
        self.done += batch
        if self.rng.random() < 0.05:
            self.client.lose_the_process()
            self.begin()
            return
        self.member.reached(self.progress)
        for place in batch:
            self.member.done(*place)

    def play(self, steps: int) -> None:
        for _ in range(steps):
            self.step()


def drawn(seed: int) -> tuple[Stream, Done]:
    rng = random.Random(seed)
    logs = [sorted(rng.sample(range(60), rng.randint(1, 40))) for _ in range(rng.randint(1, 4))]
    everything = [(TopicPartition("t", number), offset) for number, log in enumerate(logs) for offset in log]
    return Stream(rng, Brokers(rng, logs), rng.choice([1, 2, 3, 8, 20, 100])), everything


@pytest.mark.parametrize("seed", range(150))
def test_a_ledger_that_is_put_back_is_noticed_and_what_the_error_names_counts_once(seed: int) -> None:
    stream, everything = drawn(seed)
    stream.begin()
    stream.kept.append(([], {}))
    stream.play(stream.rng.randint(1, 600))
    stream.client.lose_the_process()
    stream.begin()  # whatever was lost with the process, the ledger has all that was acked
    done, positions = stream.rng.choice(stream.kept)
    passed = {p.partition for p, at in everything if at < stream.client.positions[p.partition] and (p, at) not in done}
    stream.done = list(done)
    try:
        stream.begin()
        assert not passed
    except FatalError as error:
        named = re.search(r"--topic t:([0-9,]+) ", str(error))
        assert named is not None
        numbers = {int(number) for number in named[1].split(",")}
        assert passed <= numbers
        for number in numbers:  # as a tool does
            stream.client.positions[number] = positions.get(number, 0)
            stream.client.notes.pop(number, None)
        stream.begin()
    for _ in range(30_000):
        stream.step()
        if sorted(stream.done) == everything:
            break
    assert sorted(stream.done) == everything, "each once, and all"


@pytest.mark.parametrize("horizon", [0, 20])
@pytest.mark.parametrize("topic_id", ["", "made"])
def test_a_note_is_read_as_it_was_written(horizon: int, topic_id: str) -> None:
    for progress in (None, StreamProgress(LIFE, 0, 0), StreamProgress(LIFE, 2**40, 2**40, 2**40)):
        note = note_of(topic_id, horizon, progress)
        assert (horizon_in(note), progress_in(note)) == (horizon, progress)
        assert not is_of_another_topic(note, topic_id)
        assert is_of_another_topic(note, "other") is bool(topic_id)


@pytest.mark.parametrize("note", ["", "a tool's own", "done 5", "done 5 of nobody", "topic id made, done 5 of " + LIFE])
def test_what_somebody_else_has_noted_says_nothing_of_the_stream(note: str) -> None:
    assert (horizon_in(note), progress_in(note)) == (0, None)


def test_a_version_before_believes_a_position_with_such_a_note() -> None:
    note = note_of("made", 20, StreamProgress(LIFE, 0, 5))
    horizon = re.match(r"horizon ([0-9]{1,18})(?:, |$)", note)  # as it read its own
    assert horizon is not None
    assert not note[horizon.end() :].startswith("topic id "), "else it would be compared with all that follows"


def require(
    done: int, *notes: str, horizon: int = 20, life: str = LIFE, birth: int = 0, known: tuple[str, ...] = ()
) -> None:
    positions = [Place(topic, number, 5, note) for number, note in enumerate(notes) for topic in ("t", "u")]
    require_remembered(GROUP, positions, NO_IDS, Remembered(horizon, known, StreamProgress(life, birth, done)))


def test_which_partitions_and_what_is_known_are_said() -> None:
    notes = [note_of("", 0, StreamProgress(LIFE, 0, done)) for done in (7, 4, 6)]
    with pytest.raises(FatalError) as caught:
        require(4, *notes, known=("t/0/1", "t/0/2"))
    said = str(caught.value)
    assert "has 4 records of this stream done, and had 7 " in said
    assert f"{GROUP.setting} --topic t:0,2 --topic u:0,2 --to-datetime MOMENT " in said
    assert "among the 2 records that are known, of which t/0/1 was done first" in said
    with pytest.raises(FatalError, match="the 0 records that are known, and twice"):
        require(6, *notes)
    require(7, *notes)


def test_notes_of_others_and_of_before_a_reset_say_nothing() -> None:
    note = note_of("", 0, StreamProgress(LIFE, 0, 7))
    require(0, note, life="f" * 16)
    require(0, note, birth=3)
    require(0, "horizon 20, topic id made", "")
    require_remembered(GROUP, [Place("t", 0, 5, note)], NO_IDS, Remembered(20))
    with pytest.raises(FatalError, match="had 7"):
        require(0, note, horizon=0)


def test_a_ledger_that_was_put_back_to_before_a_reset_is_behind_whatever_it_has_done() -> None:
    note = note_of("", 0, StreamProgress(LIFE, 4, 2))
    with pytest.raises(
        FatalError, match=r"has 9 records .* had been reset after txid 4, which it does not know, and had 2"
    ):
        require(9, note)
    with pytest.raises(FatalError, match="had been reset after txid 4"):
        require(9, note, birth=3)
    require(2, note, birth=4)


def test_a_reset_in_a_ledger_that_was_put_back_hides_nothing() -> None:
    """The reset is behind txid 4, and what was acked before any reset went up to txid 9."""
    note = note_of("", 0, StreamProgress(LIFE, 0, 7, 9))
    with pytest.raises(FatalError) as caught:
        require(0, note, birth=4)
    assert (
        "has 0 records of this stream done since its reset behind txid 4, but the group's positions were committed "
        "before any such reset, when 7 were, up to txid 9: it was put back"
    ) in str(caught.value)
    for reset in (9, 12):  # that one knew of all that was acked
        require(0, note, birth=reset)
    require(0, note_of("", 0, StreamProgress(LIFE, 0, 7)), birth=4)  # an earlier version has noted no txid
    require(0, note_of("", 0, StreamProgress("f" * 16, 0, 7, 9)), birth=4)


def test_that_a_ledger_is_behind_is_said_before_that_it_remembers_fewer() -> None:
    with pytest.raises(FatalError, match="had 7"):
        require(4, note_of("", 100, StreamProgress(LIFE, 0, 7)))


MADE = {"t": "one", "u": "two"}


def placed(*known: str, **places: int) -> None:
    """Look at positions by topic and number (`t0=5`); -1001 is none."""
    positions = [Place(name[0], int(name[1:]), offset) for name, offset in places.items()]
    require_placed(GROUP, positions, MADE, known)


def test_a_position_that_is_gone_is_said_with_all_that_may_have_gone_with_it() -> None:
    with pytest.raises(FatalError) as caught:
        placed("t/0/7@one", "t/0/4@one", t0=-1001, t1=-1001, t2=3, u0=-1001, u1=-1001)
    said = str(caught.value)
    assert "no position in t:0 any more, and records up to offset 7 " in said
    assert f"{GROUP.setting} --topic t:0 --to-offset 8 goes on behind them" in said
    assert "It has none in t:1, u:0,1 either" in said
    assert f"{GROUP.setting} --topic t:1 --topic u:0,1 with --to-datetime MOMENT" in said
    with pytest.raises(FatalError) as caught:
        placed("t/0/7@one", "u/1/2@two", t0=-1001, u1=-1001)
    said = str(caught.value)
    assert "no position in 2 partitions any more" in said
    assert "--from-file FILE, which has a line for each: t,0,8 u,1,3 goes on" in said
    assert "either" not in said


def test_who_has_lost_no_position_of_what_is_done_is_let_on() -> None:
    placed("t/0/7@one", t0=8, t1=-1001, u0=-1001)
    placed(t0=-1001)
    placed("t/0/7@before", "t/0", t0=-1001)


@pytest.mark.parametrize(
    ("life", "is_new", "is_said"), [("f" * 16, True, True), (LIFE, True, False), ("f" * 16, False, False)]
)
def test_a_stream_that_begins_behind_another_one_says_so(
    life: str, is_new: bool, is_said: bool, caplog: pytest.LogCaptureFixture
) -> None:
    positions = [Place("t", 0, 5, note_of("made", 0, StreamProgress(life, 0, 3))), Place("t", 1, 5, "a tool's own")]
    for ids in ({"t": "made"}, {"t": "copy"}):
        caplog.clear()
        require_remembered(GROUP, positions, ids, Remembered(20, (), StreamProgress(LIFE, 0, 3), is_new))
        said = ["positions in t:0 were committed by another stream" in each for each in caplog.messages]
        assert said == [True] * is_said


def test_positions_in_another_topic_of_the_name_are_neither_believed_nor_left() -> None:
    """A mirrored cluster has them with their metadata: read from its beginning, all that is done would count twice."""
    positions = [Place("t", number, 5, note_of(made, 0)) for number, made in enumerate(("one", "other", "", "another"))]
    with pytest.raises(FatalError, match=r"positions in t:1,3 were committed in another topic") as caught:
        require_placed(GROUP, positions, MADE, ())
    assert f"{GROUP.setting} --topic t:1,3 --to-current goes on at the positions" in str(caught.value)


def copied(done: int, *notes: tuple[str, int]) -> None:
    """Look at positions of t, then of u, each with the id of the topic that it was committed in, and what was done."""
    positions = [
        Place("tu"[number], 0, 5, note_of(made, 100, StreamProgress(LIFE, 0, then)))
        for number, (made, then) in enumerate(notes)
    ]
    known = ("t/0/1@before", "u/0/1@before", "u/0/2@two")
    remembered = Remembered(100, known, StreamProgress(LIFE, 0, done))
    require_remembered(GROUP, positions, MADE, remembered)
    require_placed(GROUP, positions, MADE, known)


def test_a_ledger_that_was_put_back_is_told_where_the_topic_is_a_copy_too() -> None:
    """Whoever believes a position takes its note away, and nothing would say any more that the ledger is behind."""
    with pytest.raises(FatalError, match=r"has 2 records .* done, and had 5 .*it was put back") as caught:
        copied(2, ("before", 5), ("before", 2))
    said = str(caught.value)
    assert "positions in t:0 were committed in another topic of that name besides" in said
    assert f"say which: {GROUP.setting} --topic t:0 --to-datetime MOMENT has it given again" in said
    assert "what was done and comes again counts twice" in said
    assert "counts once" not in said, "no id of a copy is known"
    assert (
        "The same with --to-current in the place of --to-datetime MOMENT goes on behind it, and leaves it out" in said
    )
    assert f"{GROUP.setting} --topic t:0 --to-earliest gives all that is there" in said


def test_of_a_ledger_that_was_put_back_beside_a_copy_the_other_topics_records_are_known() -> None:
    with pytest.raises(FatalError, match=r"has 2 records .* done, and had 5 .*it was put back") as caught:
        copied(2, ("before", 4), ("two", 5))
    said = str(caught.value)
    assert f"say which: {GROUP.setting} --topic t:0 --topic u:0 --to-datetime MOMENT has it given again" in said
    assert "among the 1 records that are known, of which u/0/2@two was done first, and twice if it was done" in said
    assert "done before these, and whenever it was done if it is of t:0. The same" in said
    assert f"{GROUP.setting} --topic t:0 --to-earliest gives all that is there" in said
    with pytest.raises(FatalError, match="had 5") as caught:
        copied(2, ("before", 2), ("two", 5))
    assert "another topic" not in str(caught.value), "the next start says it of t:0, whose note tells nothing"


@pytest.mark.parametrize("done", [5, 9])
def test_a_copy_whose_ledger_is_not_behind_is_none_that_was_put_back(done: int) -> None:
    with pytest.raises(FatalError, match=r"positions in t:0, u:0 were committed in another topic") as caught:
        copied(done, ("before", 5), ("before", 4))
    assert "put back" not in str(caught.value)
    copied(done, ("one", 5), ("two", 4))


def test_what_horizon_a_copys_positions_ask_for_is_no_matter() -> None:
    require_remembered(GROUP, [Place("t", 0, 5, note_of("before", 100))], MADE, Remembered(20))
    with pytest.raises(FatalError, match="last 100 records"):
        require_remembered(GROUP, [Place("t", 0, 5, note_of("one", 100))], MADE, Remembered(20))


def test_a_member_compares_the_notes_of_a_copy_with_its_ledger() -> None:
    client = Brokers(random.Random(1), [[0, 1, 2]])
    client.positions[0], client.notes[0] = 3, note_of("before", 20, StreamProgress(LIFE, 0, 3))
    member = GroupMember({}, GroupPlace("b", ("t",), "g"), StartAt.EARLIEST)
    member._consumer = cast(Consumer, client)
    member._topics._ids = {"t": "copy"}
    for done, said in ((2, "it was put back to an earlier moment"), (3, "say where it goes on")):
        with pytest.raises(FatalError, match=f"(?i){said}"):
            member._look_where_it_begins([TopicPartition("t", 0)], Remembered(20, (), StreamProgress(LIFE, 0, done)))


def test_a_command_is_one_for_a_shell() -> None:
    place = GroupPlace("h:1,i:2", ("t",), "x; echo $(id)")
    words = shlex.split(place.setting)
    assert words[words.index("--group") + 1 :] == ["x; echo $(id)"]
    assert words[words.index("--bootstrap-server") + 1] == "h:1,i:2"
