"""A body that is one text, as a row."""

from __future__ import annotations

from typing import ClassVar

from trident.spouts.queue.message import Values
from trident.spouts.queue.received import Received


class TextBody:
    """The body is the account."""

    schema: ClassVar[str] = "account string"

    def values(self, received: Received) -> Values:
        """Return it as a row of one field."""
        return ((received.body or b"").decode(),)
