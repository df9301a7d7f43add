"""How a queue's messages become values: exactly as they say, or not at all, and never with a word of the sender's."""

from __future__ import annotations

import json
from contextlib import suppress
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trident.base.errors import ConfigurationError
from trident.spouts.queue.bodies.body import FieldsBody, JsonBody, RawBody
from trident.spouts.queue.bodies.ddl import DeclaredField, FieldType, declared_fields
from trident.spouts.queue.received import Received, UnreadableError, id_problem

SECRET = "of-ann-only"


def of(body: bytes | None = b"", **attributes: bytes | None) -> Received:
    return Received("m-1", "q", body, b"key", attributes)


def test_a_schema_is_found_as_it_was_declared() -> None:
    ddl = "a string NOT NULL COMMENT 'x, y', `b``c d`: dec(20, 2), "
    ddl += "e array<struct<f:long,g:map<string,double>>>, h interval day"
    inside = FieldType("struct", inside=(DeclaredField("f", FieldType("bigint")), DeclaredField("g", _map())))
    assert declared_fields(ddl) == (
        DeclaredField("a", FieldType("string"), is_required=True),
        DeclaredField("b`c d", FieldType("decimal", 20, 2)),
        DeclaredField("e", FieldType("array", inside=(DeclaredField("", inside),))),
        DeclaredField("h", FieldType("other")),
    )


def _map() -> FieldType:
    return FieldType("map", inside=(DeclaredField("", FieldType("string")), DeclaredField("", FieldType("double"))))


def test_a_comment_says_nothing_of_null() -> None:
    assert not declared_fields("a string COMMENT 'is NOT NULL'")[0].is_required
    assert not declared_fields("a struct<b: int NOT NULL>")[0].is_required
    assert declared_fields("a array<int> not  null")[0].is_required


@given(st.text(max_size=200))
def test_no_text_breaks_the_reading_of_a_schema(ddl: str) -> None:
    declared_fields(ddl)


@pytest.mark.parametrize(
    ("declared", "said", "value"),
    [
        ("tinyint", "-128", -128),
        ("bigint", "9223372036854775807", 2**63 - 1),
        ("double", "1", 1.0),
        ("double", "0.1", 0.1),
        (
            "decimal(38,2)",
            "123456789012345678901234567890123456.78",
            Decimal("123456789012345678901234567890123456.78"),
        ),
        ("decimal(3,1)", "1.50", Decimal("1.50")),
        ("decimal(3,0)", "1e2", Decimal(100)),
        ("decimal(3,1)", "0.000", Decimal(0)),
        ("string", '"é"', "é"),
        ("boolean", "true", True),
        ("binary", '"/w=="', b"\xff"),
        ("date", '"2026-01-31"', date(2026, 1, 31)),
        ("timestamp", '"2026-01-31T12:00:00Z"', datetime(2026, 1, 31, 12, tzinfo=UTC)),
        ("timestamp_ntz", '"2026-01-31T12:00:00"', datetime(2026, 1, 31, 12)),  # noqa: DTZ001 - it has none
        ("array<double>", "[1, null, 2.5]", [1.0, None, 2.5]),
        ("map<string,decimal(2,1)>", '{"a": 1.5}', {"a": Decimal("1.5")}),
        ("struct<a:int,b:string>", '{"a": 1, "c": 2}', {"a": 1, "b": None}),
        ("string", "null", None),
    ],
)
def test_a_json_value_is_what_was_declared(declared: str, said: str, value: object) -> None:
    found = JsonBody(f"f {declared}").values(of(f'{{"f": {said}, "other": 1}}'.encode()))
    assert found == {"f": value}
    assert isinstance(found, dict)
    assert type(found["f"]) is type(value)


@pytest.mark.parametrize(
    ("declared", "said"),
    [
        ("tinyint", "128"),
        ("int", "1.0"),
        ("int", "true"),
        ("int", f'"{SECRET}"'),
        ("bigint", "9223372036854775808"),
        ("double", "1e999"),
        ("double", '"1"'),
        ("double", "1e-400"),
        ("float", "1e39"),
        ("float", "1e-50"),
        ("timestamp", '"2026-01-31T12:00:00.123456789Z"'),
        ("timestamp", '"2026-01-31T12:00:00+00:00:00.000001"'),
        ("timestamp", '"0001-01-01T00:00:00+05:00"'),
        ("timestamp_ntz", '"2026-01-31T12:00:00,1234567"'),
        ("double", "NaN"),
        ("decimal(3,1)", "1.55"),
        ("decimal(3,1)", "100"),
        ("decimal(3,1)", "1e999999999"),
        ("decimal(3,1)", "1e99999999999999999999"),
        ("string", "5"),
        ("string", '"\\ud800"'),
        ("boolean", "1"),
        ("binary", f'"{SECRET}"'),
        ("date", '"31.1.2026"'),
        ("timestamp", '"2026-01-31T12:00:00"'),
        ("timestamp_ntz", '"2026-01-31T12:00:00Z"'),
        ("array<int>", f'["{SECRET}"]'),
        ("map<int,int>", '{"1": 1}'),
        ("struct<a:int NOT NULL>", "{}"),
        ("int", "1" * 5_000),
        ("int NOT NULL", "null"),
    ],
)
def test_a_json_value_that_is_not_what_was_declared(declared: str, said: str) -> None:
    with pytest.raises(UnreadableError) as caught:
        JsonBody(f"f {declared}").values(of(f'{{"f": {said}}}'.encode()))
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize("body", [b"", b"\xff", b"[1]", b'"a"', b"[" * 100_000, b'{"f": 1} x', b"null"])
def test_a_body_that_is_no_json_object(body: bytes) -> None:
    with pytest.raises(UnreadableError, match=r"not UTF-8|not JSON|no object"):
        JsonBody("f int").values(of(body))


def test_no_body_is_no_json_object() -> None:
    with pytest.raises(UnreadableError, match="has no body"):
        JsonBody("f int").values(of(None))


@given(st.binary(max_size=60))
def test_no_body_breaks_the_reading(body: bytes) -> None:
    with suppress(UnreadableError):
        JsonBody("f int").values(of(body))


@given(
    st.fixed_dictionaries(
        {
            "i": st.integers(-(2**63), 2**63 - 1),
            "d": st.floats(allow_nan=False, allow_infinity=False),
            "s": st.text(st.characters(exclude_categories=["Cs"])),
            "a": st.lists(st.booleans()),
        }
    )
)
def test_json_that_fits_comes_as_it_went(values: dict[str, object]) -> None:
    body = JsonBody("i bigint, d double, s string, a array<boolean>")
    assert body.values(of(json.dumps(values).encode())) == values


def test_fields_of_an_entry_by_name() -> None:
    body = FieldsBody("a string, n int, d decimal(9,2), x double, b binary, t boolean, m date, gone int")
    given_ = of(a="é".encode(), n=b"5", d=b"1.50", x=b"2", b=b"\xff", t=b"true", m=b"2026-01-31", more=b"")
    assert body.values(given_) == {
        "a": "é",
        "n": 5,
        "d": Decimal("1.50"),
        "x": 2.0,
        "b": b"\xff",
        "t": True,
        "m": date(2026, 1, 31),
        "gone": None,
    }


@pytest.mark.parametrize(
    ("declared", "said"),
    [("int", b"1.5"), ("int", b""), ("double", b"x"), ("double", b"nan"), ("string", b"\xff"), ("boolean", b"yes")],
)
def test_a_text_that_says_no_such_value(declared: str, said: bytes) -> None:
    with pytest.raises(UnreadableError, match="field 'f'"):
        FieldsBody(f"f {declared}").values(of(f=said))


def test_no_text_says_an_array() -> None:
    with pytest.raises(ConfigurationError, match="no value of the type of f"):
        FieldsBody("f array<int>")


def test_raw_is_all_there_is() -> None:
    names = [each.name for each in declared_fields(RawBody.schema)]
    values = RawBody().values(of(b"\xff", h=None))
    assert dict(zip(names, values, strict=True)) == {
        "id": "m-1",
        "source": "q",
        "key": b"key",
        "attributes": {"h": None},
        "body": b"\xff",
    }


def test_a_message_shows_nothing_of_its_sender_but_the_id() -> None:
    assert repr(of(SECRET.encode(), h=SECRET.encode())) == "Received(id='m-1', source='q')"


@pytest.mark.parametrize(
    ("id_", "problem"), [("", "empty"), (" ", "empty"), ("x" * 501, "501"), ("\0", "NUL"), ("\ud800", "half")]
)
def test_an_id_that_can_not_be_remembered(id_: str, problem: str) -> None:
    assert problem in (id_problem(id_) or "")


def test_ids_that_can_be() -> None:
    assert [id_problem(each) for each in ("1", "é" * 500, "a/b c")] == [None] * 3


@pytest.mark.parametrize("text", ["sNaN", "-sNaN1", "NaN", "1_0"])
@pytest.mark.parametrize("declared", ["double", "float", "decimal(5,2)", "int"])
def test_a_text_that_is_a_number_to_python_alone(declared: str, text: str) -> None:
    with pytest.raises(UnreadableError):
        FieldsBody(f"f {declared}").values(of(f=text.encode()))


@pytest.mark.parametrize("kind", [JsonBody, FieldsBody])
@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ("account strng", "no type 'strng'; did you mean 'string'"),
        ("a int, b decimel(20,2)", "no type 'decimel'; did you mean 'decimal'"),
    ],
)
def test_a_type_that_is_misspelt_is_refused_when_the_body_is_made(
    kind: type[JsonBody | FieldsBody], schema: str, said: str
) -> None:
    with pytest.raises(ConfigurationError, match=said):
        kind(schema)


def test_types_inside_of_others_are_looked_at_and_those_of_a_newer_spark_are_left_to_it() -> None:
    with pytest.raises(ConfigurationError, match="no type 'bigin'; did you mean 'bigint'"):
        JsonBody("a array<struct<n: bigin>>")
    JsonBody("a interval day to second, b variant, c geography(4326), d string collate UTF8_LCASE, e time(6)")
