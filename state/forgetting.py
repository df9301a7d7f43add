"""A target that its topology lets go of: others may have its place then, and no old owner of it writes there again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from trident.base.errors import ConfigurationError
from trident.base.identity import Epoch, Owner

if TYPE_CHECKING:
    from trident.state.target import Target


class Forgettable(Protocol):
    """Can be let go of, with what it holds or without."""

    def check_forget(self, owner: Owner, epoch: Epoch, drops: bool) -> None:
        """Raise what `forget` would raise, as far as that can be tried; changes nothing, raises no fence."""

    def forget(self, owner: Owner, epoch: Epoch, drops: bool) -> None:
        """Take away whose it is, and with `drops` what it has made for its values, in one step; idempotent.

        What has left, by a target with `keeps_what_left`, stays where it went. The fence stays too, at this epoch: an
        owner that stood still and wakes up is refused, and whoever begins there again has to be above it. Raises
        `FencedError` under an older epoch, and `MismatchError`, nothing changed, for what is another owner's.
        """

    def is_let_go(self, owner: Owner) -> bool:
        """Tell whether this very owner was let go of here, by what that has left.

        A place that was exchanged for another one, restored or made anew says nothing of it, though nothing stands
        there either.
        """


def forgetting_of(target: Target) -> Forgettable:
    """Return what lets go of it; raises ConfigurationError naming a target that can't be let go of."""
    forgetting = target.capabilities.forgetting
    if forgetting is None:
        raise ConfigurationError(
            f"no forget: {target.name!r} can't be let go of: a map of a user's own, and whatever has one of the weaker "
            "levels, is not made for that yet. Nothing was changed"
        )
    return forgetting
