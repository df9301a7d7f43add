"""What the address of a PostgreSQL database says, without asking a server."""

from __future__ import annotations

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from trident.base.errors import ConfigurationError

_THIS_MACHINE = ("localhost", "127.0.0.1", "::1")
_DEFAULT_PORT = 5432


def normal_dsn(dsn: str) -> str:
    """Return a libpq connection string; raises ConfigurationError that shows no part of an unreadable one."""
    plain = dsn.replace("postgresql+psycopg://", "postgresql://", 1)
    try:
        return make_conninfo("", **conninfo_to_dict(plain))
    except psycopg.ProgrammingError:
        text = "the Postgres DSN can't be read; write postgresql://user:password@host:5432/database"
        raise ConfigurationError(text) from None


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
