"""What decisions are given: a topology, or the name of one, and a ledger; checked before anything is opened."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from trident.base.checks import check_able, refused
from trident.base.names import check_given_name
from trident.coordinators.ledger import Ledger

if TYPE_CHECKING:
    from trident.language.topology import Topology


def check_topology(given: Topology) -> Topology:
    """Return a topology, as it was built."""
    return check_able("topology", given, ("compile", "run"), "a Topology", has=("name",))


def name_of(given: Topology | str) -> str:
    """Return the name of a topology that is given by itself or by its name."""
    if isinstance(given, str):
        return check_given_name("topology", given)
    if isinstance(given, type) or not hasattr(given, "name"):
        raise refused("topology", "a Topology or the name of one", given)
    return check_given_name("topology", given.name)


def check_lost(given: Collection[str]) -> tuple[str, ...]:
    """Return the names of states and sinks whose places a person says are lost."""
    if isinstance(given, str) or not isinstance(given, Collection):
        raise refused("lost_states", "a list of names of states and sinks", given)
    return tuple(check_given_name("lost_states", each) for each in given)


def check_ledger(given: Ledger) -> Ledger:
    """Return a ledger, such as SqliteLedger(path)."""
    wanted = "a ledger such as SqliteLedger(path) or PostgresLedger(dsn)"
    return check_able("ledger", given, ("open", "acquire", "register", "view"), wanted, has=("database",))
