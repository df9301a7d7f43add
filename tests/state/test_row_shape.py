"""What a sink that writes rows refuses when it is built, and what it says."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
import pytest

from trident.base.errors import ConfigurationError
from trident.state.row_tables.shape import RowWrite, row_shape

TYPES = (pa.string(), pa.string(), pa.timestamp("us", "UTC"), pa.int64(), pa.bool_())
FIELDS = pa.schema([pa.field(name, type_) for name, type_ in zip(("k", "said", "at", "n", "x"), TYPES, strict=True)])
VERSIONS = {"keys": ("k",), "valid_from": "at", "valid_to": "until"}
REFUSED: Mapping[str, tuple[RowWrite, Mapping[str, object], str]] = {
    "a key without a use": (RowWrite.APPEND, {"keys": ("k",)}, "write='append' takes no key"),
    "no key": (RowWrite.UPSERT, {}, "write='upsert' needs the fields of its key: key=…"),
    "a field that is not there": (RowWrite.UPSERT, {"keys": ("kk",)}, "a field that is not there: 'kk'"),
    "a field twice": (RowWrite.UPSERT, {"keys": ("k", "k")}, "a key's field is named twice"),
    "a delete that deletes": (
        RowWrite.DELETE,
        {"keys": ("k",), "deleted": "gone"},
        "takes no deleted=",
    ),
    "deleted is no boolean": (RowWrite.UPSERT, {"keys": ("k",), "deleted": "n"}, "'n', .* must be a boolean"),
    "no end": (RowWrite.VERSIONS, {**VERSIONS, "valid_to": None}, "needs both valid_from= and valid_to="),
    "an end of an upsert": (RowWrite.UPSERT, {**VERSIONS}, "takes no valid_from= and no valid_to="),
    "the end is a field": (RowWrite.VERSIONS, {**VERSIONS, "valid_to": "N"}, "fills the column 'N' itself"),
    "a beginning in the key": (RowWrite.VERSIONS, {**VERSIONS, "keys": ("at",)}, "no part of the key"),
    "a text begins": (
        RowWrite.VERSIONS,
        {**VERSIONS, "valid_from": "said"},
        "'said' is string, .* cast it",
    ),
    "changes of an upsert": (RowWrite.UPSERT, {"keys": ("k",), "skip_unchanged": True}, "takes no skip_unchanged="),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_does_not_fit_together_is_refused_by_its_name(case: str) -> None:
    write, given, said = REFUSED[case]
    with pytest.raises(ConfigurationError, match=f"sink 'rows'.*{said}"):
        row_shape("rows", "t", FIELDS, write, **given)  # type: ignore[arg-type]


@pytest.mark.parametrize("begins", ["at", "n"])
def test_moments_and_whole_numbers_say_when_a_version_begins(begins: str) -> None:
    assert row_shape("rows", "t", FIELDS, RowWrite.VERSIONS, ("k",), None, begins, "until").found_by == ("k", begins)
