"""What is there to be tried, and not yet to be relied on: refused unless the environment asks for it by name."""

from __future__ import annotations

import os
from typing import Final

from trident.base.errors import ConfigurationError

PREVIEW: Final = "TRIDENT_PREVIEW"


def require_preview(name: str, missing: str) -> None:
    """Raise ConfigurationError unless the environment asks for this preview; `missing` says what it can't do yet."""
    if name not in os.environ.get(PREVIEW, "").split(","):
        raise ConfigurationError(
            f"{name} is a preview: {missing}. Nothing was changed. Set {PREVIEW}={name} in the environment to try it "
            "on data that you can do without"
        )
