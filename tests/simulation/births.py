"""What must hold of births, and of all that was done since: by the account of `since_birth`, not by a state's word."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tests.simulation.accounts import StateAccount, ViolationError, require
from tests.simulation.since_birth import Life
from trident.coordinators.ledger.memory.rows import Entry
from trident.state.folding import current
from trident.state.positions import Position

States = Mapping[str, StateAccount]


def born(entry: Entry) -> dict[str, int | None]:
    """Return since when the ledger says that the topology has each state."""
    return {birth.state: birth.txid for birth in entry.births}


def check_birth(name: str, position: Position, entry: Entry, done: int) -> None:
    """A new state is born at what is done, nothing is decided that it has no part in, and the ledger knows it."""
    pin, known = entry.pin, born(entry).get(name)
    is_at_done = position.txid == position.birth_txid == done
    require(is_at_done, f"state {name!r} was born at {position.txid}, done is {done}")
    require(known == done, f"state {name!r} was born at {done}, its recorded birth is {known}")
    has_part = pin is None or pin.of(name) is not None
    require(has_part, f"state {name!r} was born at {done} while {pin} is without it")


def check_following(name: str, position: Position, entry: Entry) -> None:
    """A state of which nothing is there follows a reset: it is emptied, or nothing can have been in it."""
    decision = entry.reset
    assert decision is not None
    done = entry.progress.done
    keeps_nothing = decision.states == "clear" or born(entry).get(name, done) == done
    require(keeps_nothing, f"a reset keeps the rows of state {name!r}, which are gone")
    require(position.txid == decision.birth_txid, f"state {name!r} follows a reset to {position.txid}")


def check_recorded(entry: Entry, states: States) -> None:
    """A recorded birth is what is done now, or where the state was born."""
    for name, birth in born(entry).items():
        life = states[name].life
        now = entry.progress.done if life is None else life.birth
        require(birth == now, f"state {name!r} is recorded as born at {birth}, not at {now}")


def check_new_life(entry: Entry) -> None:
    """All states of a new incarnation are recorded as born where it begins."""
    done = entry.progress.done
    wanted = dict.fromkeys(entry.spec.states, done)
    require(born(entry) == wanted, f"the births of a new incarnation at {done} are {entry.births}")


def check_spec(old: Entry | None, entry: Entry, states: Iterable[str]) -> None:
    """What is registered only ever gets more, and never anything of a version that was refused."""
    before = old.spec if old is not None else entry.spec
    only_adds = (
        entry.spec.spouts == before.spouts
        and before.states.items() <= entry.spec.states.items()
        and entry.spec.states.keys() <= set(states)
    )
    require(only_adds, f"registered was {before}, now it is {entry.spec}")


def check_holds(name: str, life: Life | None, rows: Mapping[Any, Any]) -> None:
    """What a reader sees is every record that was done since the birth of the state."""
    assert life is not None, f"state {name!r} was never born"
    sums = life.sums
    if len(rows) != len(sums) or any(current(stored) != sums.get(key) for key, stored in rows.items()):
        shown = {key: current(stored) for key, stored in rows.items()}
        raise ViolationError(f"state {name!r} shows {shown}, the records done since {life.birth} make {dict(sums)}")
