"""What a version may change of a state's columns, and what the ledger keeps of that. Pure.

An order is nobody's data: what is stored stays in the order in which it came. A new value is born at what is done. A
version without it goes on until a txid was pinned with it: until then nothing can be in it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from trident.base.errors import MismatchError
from trident.coordinators.ledger.rules.columns import Column, keys_in, text_of, values_in
from trident.coordinators.ledger.rules.dropping import with_taken_back
from trident.coordinators.ledger.rules.progress import Progress
from trident.coordinators.ledger.rules.renaming import refuse_former
from trident.coordinators.registered import LEVEL, SINK, Birth, ColumnBirth, TopologySpec
from trident.state.evolving import HeldColumns
from trident.state.layout import Merge

Description = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Evolved:
    """Both descriptions, alike in all that may differ, and what becomes of the births."""

    stored: TopologySpec
    given: TopologySpec
    births: tuple[Birth, ...]
    columns: tuple[tuple[str, HeldColumns], ...]
    """What the states hold until the description is stored, where that is not what they were given with."""


@dataclass(frozen=True, slots=True)
class _State:
    """One state of both descriptions: what of its values stays, goes and comes."""

    name: str
    keys: tuple[Column, ...]
    stays: tuple[Column, ...]
    gone: tuple[Column, ...]
    comes: tuple[Column, ...]
    is_in_order: bool

    def held(self, birth: Birth, newest: int) -> HeldColumns | None:
        """Return what it holds, None where that is just what it was given with."""
        unborn = {each.column for each in birth.columns if newest <= each.txid}
        empty = unborn.union(birth.withdrawn, (column.name for column in self.gone))
        is_other = not self.is_in_order or bool(self.gone or self.comes)
        if not (is_other or empty):
            return None
        return HeldColumns(
            tuple(column.name for column in self.keys),
            tuple(column.name for column in self.stays),
            tuple(column.name for column in self.comes),
            frozenset(empty),
            is_other,
        )

    def born(self, birth: Birth, newest: int) -> Birth:
        """Return the birth with what goes and what comes."""
        gone, comes = {column.name for column in self.gone}, {column.name for column in self.comes}
        kept = tuple(each for each in birth.columns if each.column not in gone)
        new = tuple(ColumnBirth(column.name, newest) for column in self.comes)
        withdrawn = tuple(sorted(gone.union(birth.withdrawn) - comes))
        return replace(birth, columns=(*kept, *new), withdrawn=withdrawn)

    def text(self) -> str:
        """Return what its description says of its values from now on."""
        return text_of((*self.stays, *self.comes))


def described(stored: TopologySpec, births: Sequence[Birth], progress: Progress, given: TopologySpec) -> Evolved:
    """Return what a version makes of what is stored: what was taken out comes back, and see `evolved`.

    Raises MismatchError for a former name of a state (`refuse_former`).
    """
    refuse_former(stored, given)
    gone = {each.state: each.description for each in stored.dropped}
    ordered = {name: _in_order_of(gone.get(name), description) for name, description in given.states.items()}
    known, births = with_taken_back(stored, births, progress, replace(given, states=ordered))
    return evolved(known, births, progress.done, progress.pinned, given)


def evolved(
    stored: TopologySpec, births: Sequence[Birth], done: int, pinned: int | None, given: TopologySpec
) -> Evolved:
    """Return what a version makes of the stored description: values that it adds, or takes back before they are used.

    Raises MismatchError for one that lacks a value which it could have taken back before a txid was pinned with it.
    Whatever else differs is left as it is, for `merged_spec` to refuse.
    """
    newest = done if pinned is None else pinned
    by_state = {birth.state: birth for birth in births}
    states, others = dict(stored.states), dict(given.states)
    columns: list[tuple[str, HeldColumns]] = []
    for name in sorted(states.keys() & others.keys()):
        state, birth = _compared(name, states[name], others[name]), by_state.get(name)
        if state is None or ((state.gone or state.comes) and birth is None):
            continue
        if birth is not None:
            if state.gone and not _may_go(given.name, state, birth, done, pinned):
                continue
            by_state[name] = state.born(birth, newest)
        held = state.held(birth or Birth(name, None), newest)
        if held is not None:
            columns.append((name, held))
        both = {"keys": states[name].get("keys", ""), "values": state.text()}
        states[name], others[name] = {**states[name], **both}, {**others[name], **both}
    changed = tuple(by_state[birth.state] for birth in births)
    return Evolved(replace(stored, states=states), replace(given, states=others), changed, tuple(columns))


def births_without(births: Sequence[Birth], txid: int) -> tuple[Birth, ...]:
    """Return the births once a txid is undone: the next attempt at it has what was born behind it."""
    return tuple(
        replace(
            birth,
            columns=tuple(replace(each, txid=txid - 1) if each.txid == txid else each for each in birth.columns),
        )
        for birth in births
    )


def _in_order_of(stored: Description | None, given: Description) -> dict[str, str]:
    ordered = dict(given)
    if stored is None or not _is_state(given):
        return ordered
    for part, parse in (("keys", keys_in), ("values", values_in)):
        before, now = parse(stored.get(part, "")), parse(given.get(part, ""))
        if before and now and set(before) == set(now):
            ordered[part] = stored[part]
    return ordered


def _is_state(description: Description) -> bool:
    """Whether it is of a state that stands at txids: at the weaker levels nothing tells when a value was born."""
    return description.get("kind") != SINK and LEVEL not in description and {"keys", "values"} <= description.keys()


def _compared(name: str, stored: Description, given: Description) -> _State | None:
    """Return what stays, goes and comes; None where something differs that may not."""
    others = stored.keys() | given.keys()
    if not (_is_state(stored) and _is_state(given)) or any(
        stored.get(part) != given.get(part) for part in others - {"keys", "values"}
    ):
        return None
    keys, before, now = keys_in(stored["keys"]), values_in(stored["values"]), values_in(given["values"])
    new_keys = keys_in(given["keys"])
    if keys is None or new_keys is None or before is None or now is None or set(keys) != set(new_keys):
        return None
    stays = tuple(column for column in before if column in now)
    gone = tuple(column for column in before if column not in now)
    comes = tuple(column for column in now if column not in before)
    if {column.name for column in gone} & {column.name for column in comes}:
        return None  # it is merged in another way, or of another type
    if any(column.merge is Merge.REPLACE for column in comes):
        return None  # what an updater keeps it keeps as a whole
    return _State(name, keys, stays, gone, comes, keys == new_keys and before == now)


def _may_go(topology: str, state: _State, birth: Birth, done: int, pinned: int | None) -> bool:
    """Tell whether nothing can be in what is gone; raises MismatchError where that was so once."""
    born = {each.column: each.txid for each in birth.columns}
    if not all(column.name in born for column in state.gone):
        return False
    since = min(born[column.name] for column in state.gone)
    if (done if pinned is None else pinned) <= since:
        return True
    names = ", ".join(repr(column.name) for column in state.gone)
    newest = f"{done} is done" if pinned is None else f"{pinned} is pinned"
    raise MismatchError(
        f"topology {topology!r} can't go back to this version: state {state.name!r} has {names} since txid {since}, "
        f"and txid {newest} with that. Before one was, this version would have gone on; now what it lacks would stand "
        "still, and be wrong if it came back. Nothing was changed. Start the version that has it."
    )
