"""A state that goes on under another name, in the place where it is: its rows stay, what says where it stands follows.

The ledger says which name is which state's. A store that was restored, or a death between the two, leaves a state under
a former name; whoever takes the topology over looks for it there, fences it there, and lets it follow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from trident.base.advice import RESET_LOST
from trident.base.errors import ConfigurationError, MismatchError
from trident.base.identity import Epoch, Owner

if TYPE_CHECKING:
    from trident.state.target import Target


class Renames(Protocol):
    """Lives in a place that it can be found in under another name."""

    def under(self, name: str) -> Target:
        """Return this very place under another name; it lives as long as this one is open, and is not closed itself."""

    def lies_under(self, topology: str, name: str) -> bool:
        """Tell whether what stands in this place stands there under that name; changes nothing and makes nothing."""

    def names(self, topology: str) -> tuple[str, ...]:
        """Return the names under which what stands in this place stands in that topology; see `lies_under`."""

    def check_free(self, topology: str) -> None:
        """Raise MismatchError where its own name stands for something already, here or elsewhere in its database.

        Changes nothing.
        """

    def follow(self, owner: Owner, epoch: Epoch, former: str) -> None:
        """Stand under its own name from now on, at the same position, with all that is staged; fenced and idempotent.

        Under the former name nothing is left that an older epoch could write. Raises `FencedError` for an epoch that
        is not the newest, `MismatchError` where both names stand for something.
        """


def renaming_of(target: Target) -> Renames:
    """Return what lets a target follow a rename; raises ConfigurationError naming one that can't."""
    renaming = target.capabilities.renaming
    if renaming is None:
        raise ConfigurationError(
            f"state {target.name!r} can't be renamed: its store keeps what it holds under its name. Nothing was "
            "changed: put the former name back"
        )
    return renaming


def not_free(name: str, topology: str) -> MismatchError:
    """Return what is said where a name stands for something already."""
    return MismatchError(
        f"no state can be renamed to {name!r}: where it lives something of topology {topology!r} stands under that "
        "name already, so this ledger is not the one that it was written with, or was restored to a point before that. "
        "Nothing was changed: correct the address, restore both to the same point, or give the state a third name"
    )


def there_already(name: str, topology: str, table: str) -> MismatchError:
    """Return what is said where the new name stands for the very table whose state is to have it."""
    return MismatchError(
        f"no state can be renamed to {name!r}: table {table!r} belongs to state {name!r} of topology {topology!r} "
        "already, so the ledger is not the one that it was written with, or was restored to a point before that. "
        f"Nothing was changed: correct the address, or restore both to the same point; if the ledger is lost for good, "
        f"stop what runs with it and, with the version that has the former name, {RESET_LOST}. Then the state has that "
        "name again, and the rename can be given once more"
    )
