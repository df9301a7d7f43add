# ruff: noqa: D102 - the names of the tests are sentences
"""The part of a state's contract that is about its name: what it holds goes on under another one."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pytest

from trident.base.errors import FencedError, MismatchError
from trident.base.identity import Epoch, Owner
from trident.state.layout import StateKind
from trident.state.renaming import Renames
from trident.state.target import Target
from trident.testing.state_harness import (
    COUNTS,
    EPOCH,
    NEWER,
    OWNER,
    StateHarness,
    apart,
    batch_of,
    counts,
    diverting,
    put,
    ready,
    undoing,
)

OTHER = "sums"
"""What it is called once it is renamed."""
KINDS = pytest.mark.parametrize("kind", list(StateKind))
Begins = Callable[[StateHarness], Target]
WHERE = pytest.mark.parametrize("begun", [apart, ready])


class RenamingContract:
    """What every store promises that can follow a rename."""

    @KINDS
    def test_under_another_name_it_stands_and_goes_on_where_it_was(
        self, harness: StateHarness, kind: StateKind
    ) -> None:
        store = apart(harness, kind)
        put(harness, store, batch_of(1), counts(("ann", 1, 10), ("bob", 1, 1)))
        before = store.position(OWNER.topology)
        renamed = _followed(store)
        assert renamed.position(OWNER.topology) == before
        assert renamed.look(OWNER.topology, True) == before
        assert _lies(renamed, store.name) == (False, True)
        assert _values(renamed, "ann", "bob") == {"ann": (1, 10), "bob": (1, 1)}
        renamed.apply(batch_of(2, epoch=NEWER), renamed.stage(batch_of(2, epoch=NEWER), counts(("bob", 2, 20))))
        assert _values(renamed, "ann", "bob") == {"ann": (1, 10), "bob": (3, 21)}

    def test_what_is_staged_goes_along(self, harness: StateHarness) -> None:
        store = apart(harness)
        pinned = store.stage(batch_of(1), counts(("ann", 1, 10)))
        renamed = _followed(store)
        for _ in range(2):
            renamed.apply(batch_of(1, epoch=NEWER), pinned)
        assert _values(renamed, "ann") == {"ann": (1, 10)}
        assert diverting(renamed).staged_rows(batch_of(1, epoch=NEWER), pinned).num_rows == 1

    def test_what_was_applied_before_is_undone_under_the_new_name(self, harness: StateHarness) -> None:
        store = apart(harness)
        put(harness, store, batch_of(1), counts(("ann", 1, 10)))
        pinned = store.stage(batch_of(2), counts(("ann", 2, 20)))
        store.apply(batch_of(2), pinned)
        renamed = _followed(store)
        undoing(renamed).check_undo(batch_of(2, epoch=NEWER), pinned)
        undoing(renamed).undo(batch_of(2, epoch=NEWER), 10, pinned)
        assert _values(renamed, "ann") == {"ann": (1, 10)}

    @WHERE
    def test_it_follows_once_and_goes_back(self, harness: StateHarness, begun: Begins) -> None:
        store = begun(harness)
        put(harness, store, batch_of(1), counts(("ann", 1, 10)))
        renamed = _followed(store)
        _renaming(renamed).follow(OWNER, NEWER, store.name)
        newest = Epoch(NEWER.number + 1, "newest")
        renamed.raise_fence(OWNER, newest)
        _renaming(store).follow(OWNER, newest, OTHER)
        assert _lies(store, store.name) == (True, False)
        put(harness, store, batch_of(2, epoch=newest), counts(("ann", 2, 20)))
        assert _values(store, "ann") == {"ann": (3, 30)}

    @WHERE
    def test_an_older_epoch_changes_nothing_under_either_name(self, harness: StateHarness, begun: Begins) -> None:
        store = begun(harness)
        put(harness, store, batch_of(1), counts(("ann", 1, 10)))
        pinned = store.stage(batch_of(2), counts(("ann", 2, 20)))
        renamed = _followed(store)
        before = renamed.position(OWNER.topology)
        deeds: list[Callable[[], None]] = [
            lambda: store.apply(batch_of(2), pinned),
            lambda: store.register(OWNER, EPOCH, 0),
            lambda: store.forget_staging(OWNER, EPOCH),
            lambda: renamed.apply(batch_of(2), pinned),
            lambda: _renaming(store).follow(OWNER, EPOCH, OTHER),
            lambda: _renaming(renamed).follow(OWNER, EPOCH, store.name),
        ]
        for deed in deeds:
            with pytest.raises((FencedError, MismatchError)):
                deed()
        assert renamed.position(OWNER.topology) == before
        assert _lies(renamed, store.name) == (False, True)
        assert _values(renamed, "ann") == {"ann": (1, 10)}

    @WHERE
    def test_before_its_fence_is_raised_an_epoch_moves_nothing(self, harness: StateHarness, begun: Begins) -> None:
        """An evolve that stood still, whose successor has raised the fence and not followed."""
        store = begun(harness)
        renamed = _renaming(store).under(OTHER)
        store.raise_fence(OWNER, NEWER)
        with pytest.raises(FencedError):
            _renaming(renamed).follow(OWNER, EPOCH, store.name)
        assert _lies(renamed, store.name) == (True, False)

    def test_another_incarnation_is_not_moved(self, harness: StateHarness) -> None:
        store = apart(harness)
        store.raise_fence(OWNER, NEWER)
        with pytest.raises(MismatchError):
            _renaming(_renaming(store).under(OTHER)).follow(Owner(OWNER.topology, "other"), NEWER, store.name)
        assert _lies(store, store.name) == (True, False)

    @WHERE
    def test_where_both_names_stand_for_something_nothing_moves(self, harness: StateHarness, begun: Begins) -> None:
        """Of one place only in memory: a table bears one name, so another table has the second one."""
        store = begun(harness)
        renaming = _renaming(store)
        renamed = renaming.under(OTHER)
        try:
            renamed.raise_fence(OWNER, EPOCH)
            renamed.register(OWNER, EPOCH, 5)
        except MismatchError:
            pytest.skip("a place of its own for each name has only a store without tables")
        before = store.position(OWNER.topology), renamed.position(OWNER.topology)
        with pytest.raises(MismatchError, match="stands under that name already"):
            _renaming(renamed).follow(OWNER, EPOCH, store.name)
        assert (store.position(OWNER.topology), renamed.position(OWNER.topology)) == before

    def test_a_name_is_free_unless_something_stands_under_it(self, harness: StateHarness) -> None:
        store = apart(harness)
        _renaming(_renaming(store).under(OTHER)).check_free(OWNER.topology)
        with pytest.raises(MismatchError, match=r"stands under that name already|belongs to state .* already"):
            _renaming(store).check_free(OWNER.topology)

    def test_it_says_under_which_names_it_stands(self, harness: StateHarness) -> None:
        """So that a ledger of before the rename finds it; where a place is but a name, under no other one."""
        store = apart(harness)
        assert _renaming(store).names(OWNER.topology) == (store.name,)
        renamed = _followed(store)
        assert _renaming(renamed).names(OWNER.topology) == (OTHER,)
        assert _renaming(store).names(OWNER.topology) in ((), (OTHER,))

    def test_where_nothing_was_ever_registered_nothing_lies_and_nothing_moves(self, harness: StateHarness) -> None:
        store = harness.open_apart(COUNTS, StateKind.OPAQUE)
        renamed = _renaming(store).under(OTHER)
        assert _lies(renamed, store.name) == (False, False)
        assert _renaming(renamed).names(OWNER.topology) == ()
        _renaming(renamed).check_free(OWNER.topology)
        renamed.prepare()
        renamed.raise_fence(OWNER, EPOCH)
        _renaming(renamed).follow(OWNER, EPOCH, store.name)
        renamed.register(OWNER, EPOCH, 0)
        assert _lies(renamed, store.name) == (False, True)


def _renaming(store: Target) -> Renames:
    return store.capabilities.renaming or pytest.skip(f"{store.name!r} can't be renamed")


def _followed(store: Target) -> Target:
    """Return it under the other name, fenced and moved by a newer epoch."""
    renamed = _renaming(store).under(OTHER)
    store.raise_fence(OWNER, NEWER)
    _renaming(renamed).follow(OWNER, NEWER, store.name)
    renamed.prepare()
    renamed.raise_fence(OWNER, NEWER)
    return renamed


def _lies(store: Target, first: str) -> tuple[bool, bool]:
    """Return whether something lies under the first name, and under the other one."""
    renaming = _renaming(store)
    return renaming.lies_under(OWNER.topology, first), renaming.lies_under(OWNER.topology, OTHER)


def _values(store: Target, *accounts: str) -> dict[str, tuple[int, int]]:
    querying = store.capabilities.querying
    assert querying is not None
    rows = querying.find(OWNER.topology, pa.table({"account": list(accounts)})).rows.to_pylist()
    return {row["account"]: (row["n"], row["total"]) for row in rows}
