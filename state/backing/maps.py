"""The name under which `BackingPosition` is pickled: a store of the first version has it in its values."""

from __future__ import annotations

from trident.state.maps.maps import BackingPosition

__all__ = ["BackingPosition"]
