"""The old name of `trident.state.maps.maps`: a store that pickles its values has it in them."""

from __future__ import annotations

from trident.state.maps.maps import BackingPosition

__all__ = ["BackingPosition"]
