"""Where the states of one topology are: each in a place of its own, which addresses alone may not show."""

from __future__ import annotations

from collections.abc import Mapping

from trident.base.errors import MismatchError
from trident.coordinators.retrying import Repeater
from trident.state.target import Target


def require_one_place(stores: Mapping[str, Target], repeater: Repeater) -> None:
    """Raise MismatchError for two states in one place; asks each state that can say where it is."""
    found: dict[str, str] = {}
    for name, store in stores.items():
        placing = store.capabilities.placing
        if placing is None:
            continue
        other = found.setdefault(repeater.call(f"placing state {name!r}", placing.place), name)
        if other != name:
            would = "overwrite each other's values" if store.capabilities.plain is None else "have each record twice"
            raise MismatchError(
                f"states {other!r} and {name!r} lead to one table, through whatever addresses, and would {would}. "
                "Nothing was changed: give each a table of its own."
            )
