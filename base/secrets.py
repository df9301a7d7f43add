"""Secrets that tasks need and that must not travel with what they run: a closure carries a name, never the text.

Closures end in plans, in logs of events and in exceptions. Whoever has the text tells it to a process by another way
(the engine hands tasks a file); a process that was not told has the name only.
"""

from __future__ import annotations

import secrets
import threading
from dataclasses import dataclass

from trident.base.errors import FatalError

_lock = threading.Lock()
_texts: dict[str, str] = {}


@dataclass(frozen=True, slots=True)
class Secret:
    """The name of a secret; may be shown, logged and pickled."""

    name: str

    @property
    def text(self) -> str:
        """The secret itself; raises FatalError in a process that was not told."""
        with _lock:
            text = _texts.get(self.name)
        if text is None:
            raise FatalError(
                f"this process was not told {self.name}, an address or a login with its password that it needs; "
                "nothing was read or written. Tasks get it as a file of the Spark session: is this one of another "
                "session, or of none?"
            )
        return text

    @property
    def is_known(self) -> bool:
        """Whether this process was told."""
        with _lock:
            return self.name in _texts


def keep_secret(text: str) -> Secret:
    """Return the name of a secret, the same one for the same text; it says nothing about the text."""
    with _lock:
        for name, known in _texts.items():
            if known == text:
                return Secret(name)
        secret = Secret(f"trident-secret-{secrets.token_hex(12)}")
        _texts[secret.name] = text
    return secret


def tell(secret: Secret, text: str) -> None:
    """Tell this process a secret that another one named."""
    with _lock:
        _texts[secret.name] = text
