"""The one law for a row that Python code gives: which shapes it may have, and that it is held exactly or refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

from trident.base.arrays import AnyArray
from trident.base.exact import InexactError, exact_array


class UnfitRowError(ValueError):
    """A row does not fit the declared fields; the text names fields and types, and no value."""


def row_values(row: object, names: Sequence[str]) -> Sequence[object]:
    """Return a row's values in the order of the fields: of a dict with just these names, or of a tuple or list.

    A null is said as None: a name that is left out may be a misspelt one. Raises `UnfitRowError`.
    """
    if isinstance(row, Mapping):
        missing = [name for name in names if name not in row]
        unknown = sorted(str(name) for name in row if name not in names)
        if not missing and not unknown:
            return [row[name] for name in names]
        said = f"names {_listed(unknown)}, no field of it" if unknown else ""
        left_out = f"leaves out {_listed(missing)} (a null is said as None)" if missing else ""
        raise UnfitRowError("a dict " + " and ".join(each for each in (said, left_out) if each))
    if isinstance(row, tuple | list):
        if len(row) == len(names):
            return row
        raise UnfitRowError(f"{len(row)} values for the {len(names)} fields {', '.join(names)}")
    raise UnfitRowError(f"{_article(type(row))}, where a row is a tuple or list of its values, or a dict by its names")


def columns_of(rows: Sequence[object], fields: Sequence[pa.Field[pa.DataType]], types: Sequence[str]) -> list[AnyArray]:
    """Return rows as arrays of the fields, each value exactly; `types` are the fields' types as they are declared.

    Raises `UnfitRowError`.
    """
    names = [field.name for field in fields]
    values = [row_values(row, names) for row in rows]
    return [
        column_of([row[place] for row in values], field, declared)
        for place, (field, declared) in enumerate(zip(fields, types, strict=True))
    ]


def column_of(values: Sequence[object], field: pa.Field[pa.DataType], declared: str) -> AnyArray:
    """Return the values of a field as an array, each exactly; raises `UnfitRowError` that names the culprit's type."""
    try:
        return exact_array(values, field.type)
    except InexactError:
        pass
    culprit = next((value for value in values if not _is_held(value, field.type)), None)
    kind = "a value" if culprit is None else _article(type(culprit))
    raise UnfitRowError(f"{kind} for the field {field.name!r}, which {declared} does not hold as it is")


def _is_held(value: object, type_: pa.DataType) -> bool:
    try:
        exact_array([value], type_)
    except InexactError:
        return False
    return True


def _article(kind: type) -> str:
    return f"a value of the type {kind.__name__}"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(repr(name) for name in names)
