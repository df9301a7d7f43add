"""The address of a queue's server: a secret as a whole, of which errors show host and port."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

from trident.base.checks import check_text, may_hold_a_secret, refused
from trident.base.errors import ConfigurationError


@dataclass(frozen=True, slots=True)
class Address:
    """A server's address as it was given, and what of it may be shown."""

    url: str = field(repr=False)
    shown: str
    """host:port, without who logs in."""
    path: str
    """What follows the host, decoded and without its slash: a vhost, or the number of a database."""


def checked_address(given: object, schemes: tuple[str, ...], example: str, port: int) -> Address:
    """Return an address of one of these schemes; raises `ConfigurationError`, which shows nothing of it."""
    allowed = f"an address such as {example!r}"
    url = check_text("url", given, allowed=allowed, secret=True)
    try:
        parts = urlsplit(url)
        host, given_port = parts.hostname, parts.port
    except ValueError:  # of a port that is no number, or brackets that do not match: the text quotes them
        raise refused("url", allowed, given, secret=True) from None
    if parts.scheme not in schemes:
        raise ConfigurationError(f"url must be {allowed}: what is given begins with none of {_told(schemes)}")
    if not host:
        raise refused("url", allowed, given, secret=True)
    return Address(url, f"{host}:{given_port or port}", unquote(parts.path[1:]))


def _told(schemes: tuple[str, ...]) -> str:
    return ", ".join(f"{scheme}://" for scheme in schemes)


def check_name(what: str, given: object, allowed: str) -> str:
    """Return the name of a queue and its like, which errors and the ledger show; an address in its place is refused."""
    name = check_text(what, given, allowed=allowed)
    if "://" in name or (may_hold_a_secret(name) and "@" in name):
        raise refused(what, f"{allowed}, and no address", given, secret=True)
    return name


def require_client(module: str, spout: str) -> None:
    """Raise `ConfigurationError` where a client that a spout needs is not installed."""
    if importlib.util.find_spec(module) is None:
        raise ConfigurationError(
            f"{spout} needs the client {module}: `pip install 'trident-pyspark[queues]'`; nothing was started"
        )
