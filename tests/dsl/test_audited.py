"""A single lost or doubled record is always seen, at the step where it happened: drawn steps, each kind of fault."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trident.base.arrays import AnyArray
from trident.base.audit import DONE, ID, Accounts, AuditWord, ids_of, made_ids
from trident.base.control import CONTROL, decode
from trident.base.digest import Digest
from trident.base.order import ORDER, order_of
from trident.engine.audited import AuditError, Step, require_accounts
from trident.engine.measuring import Measure, accounts_of
from trident.operations.accounting import SUMS, Account, marks

Fault = Callable[[list[int], int], list[int]]


def dropped(ids: list[int], at: int) -> list[int]:
    return ids[:at] + ids[at + 1 :]


def doubled(ids: list[int], at: int) -> list[int]:
    return [*ids, ids[at]]


def tripled(ids: list[int], at: int) -> list[int]:
    return [*ids, ids[at], ids[at]]


def exchanged(ids: list[int], at: int) -> list[int]:
    other = next(each for each in ids if each != ids[at])
    return [*dropped(ids, at), other]


def digest(ids: list[int]) -> Digest:
    return Digest.of(np.array(ids, dtype=np.uint64))


@dataclass
class World:
    """Records that go through drawn steps; `at` is the step whose way out has the fault."""

    records: list[int]
    kinds: list[Account]
    counts: list[int]
    at: int = -1
    fault: Fault | None = None
    victim: int = 0
    steps: list[Step] = field(default_factory=list)
    counted: dict[str, Accounts] = field(default_factory=dict)

    def play(self) -> None:
        self.steps.append(Step("read", "reading", (), Account.KEEPS))
        now = self.faulty(-1, self.records)
        self.counted["read"] = Accounts(digest(now))
        for number, kind in enumerate(self.kinds):
            before = self.steps[-1].name
            self.steps.append(Step(str(number), f"step {number}", (before,), kind))
            now = self.stepped(number, kind, now)

    def faulty(self, number: int, ids: list[int]) -> list[int]:
        if self.fault is None or number + 1 != self.at or len(set(ids)) < 2:
            return ids
        return self.fault(ids, self.victim % len(ids))

    def stepped(self, number: int, kind: Account, ids: list[int]) -> list[int]:
        """Count what comes out of a step, faulty or not, and return that."""
        count = self.counts[number % len(self.counts)]
        match kind:
            case Account.KEEPS:
                out = self.faulty(number, ids)
                self.counted[str(number)] = Accounts(digest(out))
                return out
            case Account.SELECTS:
                kept = [each for each in ids if each % (count + 1) or each == ids[0]]
                done = [each for each in ids if each not in kept]
                out = self.faulty(number, kept)
                self.counted[str(number)] = Accounts(digest(out), digest(done))
                return out
            case Account.MAKES:
                parents = np.array(ids, dtype=np.uint64)
                made = made_ids(parents, np.full(len(ids), count, dtype=np.int64)).tolist()
                out = self.faulty(number, made)
                self.counted[str(number)] = Accounts(digest(out), digest(ids), digest(made))
                return out
            case Account.GATHERS:
                members = self.faulty(number, ids)
                out = [each ^ 1 for each in set(members)]
                self.counted[str(number)] = Accounts(digest(out), digest(members))
                return out


RECORDS = st.lists(st.integers(2, 2**64 - 1), min_size=2, max_size=12, unique=True)
KINDS = st.lists(st.sampled_from(Account), max_size=5)
COUNTS = st.lists(st.integers(1, 3), min_size=1, max_size=3)


@given(RECORDS, KINDS, COUNTS)
def test_where_nothing_is_lost_nothing_is_said(records: list[int], kinds: list[Account], counts: list[int]) -> None:
    world = World(records, kinds, counts)
    world.play()
    require_accounts(world.steps, world.counted, {"read": digest(records)})


@pytest.mark.parametrize("fault", [dropped, doubled, tripled, exchanged])
@given(RECORDS, KINDS, COUNTS, st.data())
def test_a_single_lost_or_doubled_record_is_always_seen_and_its_step_named(
    fault: Fault, records: list[int], kinds: list[Account], counts: list[int], data: st.DataObject
) -> None:
    at = data.draw(st.integers(0, len(kinds)))
    world = World(records, kinds, counts, at, fault, data.draw(st.integers(0, 100)))
    world.play()
    whole = World(records, kinds, counts)
    whole.play()
    if world.counted == whole.counted:  # so few records came there that nothing could be done to them
        return
    with pytest.raises(AuditError, match=f"^audit: {'reading' if at == 0 else f'step {at - 1}'} "):
        require_accounts(world.steps, world.counted, {"read": digest(records)})


def test_a_merge_has_what_all_of_its_inputs_have() -> None:
    steps = [
        Step("a", "a", (), Account.KEEPS),
        Step("b", "b", (), Account.KEEPS),
        Step("m", "merge", ("a", "b"), Account.KEEPS),
    ]
    read = {"a": digest([5, 6]), "b": digest([7])}
    counted = {"a": Accounts(read["a"]), "b": Accounts(read["b"]), "m": Accounts(digest([5, 6, 7]))}
    require_accounts(steps, counted, read)
    with pytest.raises(AuditError, match="merge lost records: it was given 3 records, and 2 are accounted for"):
        require_accounts(steps, {**counted, "m": Accounts(digest([5, 6]))}, read)


def test_of_a_step_that_says_nothing_only_what_follows_is_asked() -> None:
    steps = [
        Step("a", "a", (), Account.KEEPS),
        Step("j", "join", ("a",), None),
        Step("f", "filter", ("j",), Account.KEEPS),
    ]
    counted = {"a": Accounts(digest([5, 6])), "j": Accounts(digest([9])), "f": Accounts(digest([9]))}
    require_accounts(steps, counted, {"a": digest([5, 6])})
    with pytest.raises(AuditError, match="filter lost records"):
        require_accounts(steps, {**counted, "f": Accounts()}, {"a": digest([5, 6])})


def test_a_step_that_makes_rows_is_done_with_each_record_once() -> None:
    steps = [Step("a", "a", (), Account.SELECTS), Step("m", "flat_map", ("a",), Account.MAKES)]
    read = {"a": digest([5, 6])}
    made = Accounts(digest([9]), digest([5, 6]), digest([9]))
    require_accounts(steps, {"a": Accounts(read["a"]), "m": made}, read)
    with pytest.raises(AuditError, match="flat_map lost records: it was given 2 records, and 1 are accounted for"):
        require_accounts(steps, {"a": Accounts(read["a"]), "m": Accounts(made.passed, digest([5]), made.made)}, read)


def test_only_a_step_that_selects_may_be_done_with_a_record() -> None:
    read, counted = {"a": digest([5, 6])}, {"a": Accounts(digest([5]), digest([6]))}
    require_accounts([Step("a", "a", (), Account.SELECTS)], counted, read)
    with pytest.raises(AuditError, match="a lost records: it was given 2 records, and 1 are"):
        require_accounts([Step("a", "a", (), Account.KEEPS)], counted, read)


def test_all_records_of_a_step_whose_tasks_said_nothing_are_missed() -> None:
    steps = [Step("a", "a", (), Account.KEEPS), Step("f", "filter", ("a",), Account.KEEPS)]
    with pytest.raises(AuditError, match="filter lost records: it was given 2 records, and 0 are"):
        require_accounts(steps, {"a": Accounts(digest([5, 6]))}, {"a": digest([5, 6])})


def test_a_count_of_no_step_is_refused() -> None:
    with pytest.raises(AuditError, match="a step that there is not"):
        require_accounts([], {"x": Accounts(digest([5]))})


def batch(ids: list[int], words: list[str | None], **more: list[int]) -> pa.RecordBatch:
    columns: dict[str, AnyArray] = {
        "n": pa.array(range(len(ids)), pa.int64()),
        ID: pa.array(np.array(ids, dtype=np.uint64).view(np.int64)),
        CONTROL: pa.array(words, pa.string()),
    }
    return pa.record_batch({**columns, **{name: pa.array(values, pa.int64()) for name, values in more.items()}})


FIELDS: list[pa.Field[pa.DataType]] = [pa.field(ID, pa.int64()), pa.field(CONTROL, pa.string())]
SCHEMA = pa.schema([pa.field("n", pa.int64()), *FIELDS])


def measured(*batches: pa.RecordBatch) -> tuple[list[pa.RecordBatch], list[AuditWord]]:
    """Return what goes on, and the words about it."""
    *rest, last = Measure("s", SCHEMA)(batches)
    word = decode(str(last.column(CONTROL)[0]))
    assert isinstance(word, AuditWord)
    return rest, [word]


def test_a_task_counts_its_records_and_takes_its_marks() -> None:
    marked = marks(np.array([7, 8], dtype=np.uint64), np.array([0, 2], dtype=np.int64), SCHEMA)
    given_rows = pa.Table.from_batches([batch([5, 2**63 + 6, 1], [None, None, '["write"]']), marked]).combine_chunks()
    passed, words = measured(*given_rows.to_batches())
    assert pa.Table.from_batches(passed).column("n").to_pylist() == [0, 1, 2]
    children = made_ids(np.array([8], dtype=np.uint64), np.array([2], dtype=np.int64)).tolist()
    assert words == [AuditWord("s", Accounts(digest([5, 2**63 + 6]), digest([7, 8]), digest(children)))]
    assert marked.column(CONTROL).to_pylist() == [f"{DONE}0", f"{DONE}2"]


def test_a_task_without_a_record_has_nothing_to_say() -> None:
    rows = list(Measure("s", SCHEMA)([batch([1], ["a word"]), batch([], [])]))
    assert [each.column(CONTROL).to_pylist() for each in rows] == [["a word"]]


def test_behind_a_source_records_get_ids_in_the_place_of_their_order() -> None:
    places = order_of("t", 1, np.array([4, 5]))
    columns: list[AnyArray] = [pa.array([1, 2], pa.int64()), places, pa.nulls(2, pa.string())]
    rows = pa.RecordBatch.from_arrays(columns, names=["n", ORDER, CONTROL])
    first, last = Measure("s", SCHEMA, is_source=True)([rows])
    assert first.column(ID).to_numpy().view(np.uint64).tolist() == ids_of(places).tolist()
    assert first.schema == SCHEMA
    assert decode(str(last.column(CONTROL)[0])) == AuditWord("s", Accounts(Digest.of(ids_of(places))))


def test_groups_say_which_records_they_are_made_of() -> None:
    one, other = digest([5, 2**64 - 1]), digest([2**63])
    sums = {
        name: [getattr(each, part) for each in (one, other)]
        for name, part in zip(SUMS, ("count", "low", "high", "xor"), strict=True)
    }
    assert accounts_of(batch([11, 12], [None, None], **sums)) == Accounts(digest([11, 12]), one + other)
