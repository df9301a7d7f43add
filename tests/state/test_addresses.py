"""Addresses of databases: what can be read, and that no part of a password is ever shown."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from string import punctuation

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from trident import PostgresLedger
from trident.base.errors import ConfigurationError
from trident.state import PostgresState
from trident.state.postgres.addresses import masked, normal_dsn
from trident.state.postgres.database import PostgresDatabase

_SIGNS = [
    *punctuation,
    " ",
    "@@",
    "/@",
    "@/",
    ":/",
    "@:",
    "?@",
    "@?",
    "#@",
    "@#",
    "%zz",
    "1/",
    "@h:1/",
    "://",
    ",",
    "@h,",
]
_PLACES = (
    "postgresql://user:{}@127.0.0.1:1/db",
    "postgres://user:{}@127.0.0.1/db?connect_timeout=2",
    "postgresql+psycopg://user:{}@127.0.0.1:1,127.0.0.2:2/db",
    "postgresql://{}@127.0.0.1:1/db",
    "postgresql://user:{}@/db?host=/tmp",
    "postgresql://user@127.0.0.1:1/db?password={}",
    "postgresql://user:{}@127.0.0.1:1",
    "POSTGRESQL://user:{}@127.0.0.1:1/db",
    " postgresql://user:{}@127.0.0.1:1/db",
    "host=127.0.0.1 port=1 user=u dbname=db password={}",
    "host=127.0.0.1 port=1 user=u dbname=db password='{}'",
    "host=127.0.0.1 password={} port=1 user=u dbname=db",
    "host=127.0.0.1 port=1 dbname=postgresql://user:{}@127.0.0.1:1/db",
    "host=127.0.0.1 port=1 dbname=user:{}@127.0.0.1:1/db",
    "host=127.0.0.1 port=1 dbname='host=h password={}'",
    "host=user:{}@127.0.0.1 port=1",
)


def _passwords() -> Iterator[str]:
    for sign in _SIGNS:
        yield from (f"top{sign}secret", f"{sign}secret", f"secret{sign}", f"12{sign}secret{sign}x")


def _said_of(dsn: str) -> str:
    try:
        normal = normal_dsn(dsn)
    except ConfigurationError as error:
        return "".join(traceback.format_exception_only(error)) + str(error.__cause__)
    return masked(normal)


@pytest.mark.parametrize("place", _PLACES)
def test_no_part_of_a_password_is_shown_wherever_its_signs_lead(place: str) -> None:
    for password in _passwords():
        dsn = place.format(password)
        if place.startswith("postgresql://{}"):
            dsn = place.format(f"user:{password}")
        said = _said_of(dsn)
        assert "secret" not in said, dsn


def test_what_would_be_taken_for_a_host_a_port_or_a_database_is_refused_by_whoever_is_given_it() -> None:
    for dsn in (
        "postgresql://user:top/secret@h/db",
        "postgresql://user:top@secret@h/db",
        "dbname=postgresql://u:p@h/d",
    ):
        for make in (PostgresLedger, PostgresDatabase, lambda dsn: PostgresState("m", dsn=dsn)):
            with pytest.raises(ConfigurationError, match="can't be read") as caught:
                make(dsn)
            assert "secret" not in "".join(traceback.format_exception_only(caught.value))


@pytest.mark.parametrize("sign", _SIGNS)
def test_any_password_is_read_as_it_is_when_it_is_written_as_the_text_says(sign: str) -> None:
    password = f"top{sign}secret"
    written = "".join(f"%{ord(each):02X}" if not each.isalnum() else each for each in password)
    for dsn in (f"postgresql://user:{written}@h:1/db", psycopg.conninfo.make_conninfo("host=h", password=password)):
        assert conninfo_to_dict(normal_dsn(dsn))["password"] == password
        assert "secret" not in masked(normal_dsn(dsn))


@pytest.mark.parametrize(
    "dsn",
    [
        "postgresql://",
        "postgresql:///db",
        "postgresql://h1:1,h2:2/db",
        "postgresql://h1,h2:2/db",
        "postgresql://ann@[::1]:5432/db",
        "postgresql://h/db?user=ann@east",
        "postgresql://ann%40east:p@h/db",
        "postgresql://%2Frun%2Fpostgresql/db",
        "host=@/run/postgresql dbname=db",
        "host=/run/postgresql user=ann@east",
        "service=payments",
        "postgresql://h/my%40db",
        "dbname=my@db",
        "dbname='a=b'",
        "host=::1,fe80::1 dbname=db",
        "postgresql://?host=/cloudsql/p:r:i&user=sa@project.iam&dbname=x",
        "postgresql://h?sslrootcert=/etc/ca.pem&user=me@corp&dbname=x",
        "host=/tmp,@b port='5432 ,5433'",
        "",
    ],
)
def test_what_can_be_read_is_taken(dsn: str) -> None:
    assert conninfo_to_dict(normal_dsn(dsn)) == conninfo_to_dict(dsn)


def test_a_byte_that_is_no_text_is_refused_without_it() -> None:
    with pytest.raises(ConfigurationError, match="can't be read") as caught:
        normal_dsn("postgresql://user:top%absecret@h/db")
    assert caught.value.__suppress_context__
    assert "secret" not in str(caught.value)
