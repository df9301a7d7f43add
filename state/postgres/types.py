"""Arrow types as PostgreSQL types, spelled as the server's `format_type` spells them."""

from __future__ import annotations

import pyarrow as pa

from trident.base.errors import ConfigurationError

_PLAIN = {
    pa.bool_(): "boolean",
    pa.int8(): "smallint",
    pa.int16(): "smallint",
    pa.int32(): "integer",
    pa.int64(): "bigint",
    pa.float32(): "real",
    pa.float64(): "double precision",
    pa.string(): "text",
    pa.large_string(): "text",
    pa.binary(): "bytea",
    pa.large_binary(): "bytea",
    pa.date32(): "date",
}


def sql_type(type_: pa.DataType) -> str:
    """Return the SQL type; raises ConfigurationError for one that no column holds exactly."""
    if type_ in _PLAIN:
        return _PLAIN[type_]
    if pa.types.is_decimal128(type_) and 0 <= type_.scale <= type_.precision:
        return f"numeric({type_.precision},{type_.scale})"
    if pa.types.is_timestamp(type_) and type_.unit in ("s", "ms", "us"):
        return f"timestamp {'with' if type_.tz else 'without'} time zone"
    raise ConfigurationError(f"a state can't hold a column of type {type_}; cast it to a type that SQL has")
