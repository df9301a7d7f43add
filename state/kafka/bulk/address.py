"""The address of a staging folder, as a user gives it: the same for everybody, with no secret in it."""

from __future__ import annotations

from pathlib import Path
from typing import Final
from urllib.parse import parse_qsl, urlsplit

from trident.base.checks import refused
from trident.base.errors import ConfigurationError

_ALLOWED: Final = (
    "a folder that driver and executors share: an absolute path, or an address that Arrow knows (file://, hdfs://, "
    "s3://, gs://, abfs://) without a password or a key in it: those belong into the machines' own settings"
)
_WITH_NAMES: Final = ("abfs", "abfss", "hdfs", "viewfs")
"""Where a name before an `@` is no login: a container, a user without a password."""
_SECRETS: Final = ("secret", "password", "token", "key", "sas", "sig", "credential")


def check_folder(what: str, given: object) -> str:
    """Return a folder's address; raises ConfigurationError for one that can't be the same everywhere, or is secret."""
    text = str(given) if isinstance(given, Path) else given
    if not isinstance(text, str) or not text.isprintable():
        raise refused(what, _ALLOWED, given)
    if Path(text).is_absolute():
        return Path(text).as_uri()
    parts = urlsplit(text)
    before, at, _ = text.partition("://")[2].rpartition("@")
    names_somebody = parts.scheme in _WITH_NAMES and "/" not in before and ":" not in before
    is_secret = any(word in name.lower() for name, _ in parse_qsl(parts.query) for word in _SECRETS)
    if not parts.scheme or not parts.path or (at and not names_somebody) or is_secret:
        raise ConfigurationError(f"{what} must be {_ALLOWED}; nothing was changed")
    return text.rstrip("/")
