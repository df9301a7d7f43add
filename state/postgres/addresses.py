"""What the address of a PostgreSQL database says, without asking a server."""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import IPv6Address

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from trident.base.errors import ConfigurationError

_THIS_MACHINE = ("localhost", "127.0.0.1", "::1")
_DEFAULT_PORT = 5432
_SCHEMES = ("postgresql://", "postgres://")


def normal_dsn(dsn: str) -> str:
    """Return a libpq connection string; raises ConfigurationError that shows no part of an unreadable one.

    Unreadable is also what libpq takes a part of a password for a host, a port or a database in, which are shown.
    """
    plain = dsn.replace("postgresql+psycopg://", "postgresql://", 1)
    try:
        parts = conninfo_to_dict(plain)
        read = make_conninfo("", **parts)
    except (psycopg.ProgrammingError, UnicodeDecodeError):
        raise _unreadable() from None
    if _is_torn(plain) or not _is_plain(parts):
        raise _unreadable()
    return read


def _unreadable() -> ConfigurationError:
    return ConfigurationError(
        "the Postgres DSN can't be read; write postgresql://user:password@host:5432/database, with / @ : ? # and % in "
        "a name or password as %2F %40 %3A %3F %23 and %25"
    )


def _is_torn(url: str) -> bool:
    """Tell whether an @ stands behind the first slash, as where a password with a slash was not escaped."""
    if not url.startswith(_SCHEMES):
        return False
    return "@" in url.partition("://")[2].partition("?")[0].partition("/")[2]


def _is_plain(parts: Mapping[str, object]) -> bool:
    """Tell whether ports are numbers, hosts are hosts, and the database's name is no address of its own."""
    host, port, name = (str(parts.get(key) or "") for key in ("host", "port", "dbname"))
    ports = [each.strip() for each in port.split(",")]
    return (
        all(not each or (each.isascii() and each.isdigit()) for each in ports)
        and all(_is_host(each) for each in host.split(","))
        and not any(sign in name.lower() for sign in ("://", "password="))
        and ":" not in name.rpartition("@")[0]
    )


def _is_host(name: str) -> bool:
    """Tell whether it has neither a user's name nor a port; a folder of sockets begins with / or @."""
    if "@" in name[1:]:
        return False
    if ":" not in name or name.startswith(("/", "@")):
        return True
    try:
        return bool(IPv6Address(name))
    except ValueError:
        return False


def database_of(dsn: str) -> tuple[str, ...]:
    """Return which database a DSN leads to, whatever form it is written in: service, host, port and name.

    Equal only where it is surely the same. Aliases of a host are not resolved, but those of this machine's network are
    one; what a service, a folder of sockets or the environment leads to only the server can say.
    """
    parts = conninfo_to_dict(normal_dsn(dsn))
    host = str(parts.get("hostaddr") or parts.get("host") or "").lower()
    service = str(parts.get("service") or "")
    name = str(parts.get("dbname") or ("" if service else parts.get("user") or ""))
    place = "localhost" if host in _THIS_MACHINE else host
    return service, place, str(parts.get("port") or _DEFAULT_PORT), name


def path_of(dsn: str) -> str:
    """Return the options of a DSN if they say where names are looked up, and nothing otherwise."""
    options = str(conninfo_to_dict(normal_dsn(dsn)).get("options") or "")
    return options if "search_path" in options else ""


def masked(dsn: str) -> str:
    """Return where a DSN points to, without password or options."""
    parts = conninfo_to_dict(dsn)
    shown = [f"{key}={parts[key]}" for key in ("service", "host", "port", "dbname", "user") if parts.get(key)]
    return " ".join(shown) or "the default server"
