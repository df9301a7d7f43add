"""What is inside of arrays of lists, structures and maps, without what nulls and slices hide."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from trident.base.arrays import AnyArray, settled_array
from trident.base.exact import InexactError, has_one_twice


def entries(maps: AnyArray) -> tuple[AnyArray, AnyArray]:
    """Return the keys and the values of all maps of a column that are there."""
    assert isinstance(maps, pa.MapArray)
    there = maps.filter(maps.is_valid())
    first, stop = there.offsets[0].as_py(), there.offsets[-1].as_py()
    return there.keys.slice(first, stop - first), there.items.slice(first, stop - first)


def lengths(array: AnyArray) -> npt.NDArray[np.int64]:
    """Return how many elements, or entries, each list or map has; a null has none."""
    if isinstance(array, pa.MapArray):
        ends = array.offsets.to_numpy()
        return np.where(array.is_valid().to_numpy(zero_copy_only=False), ends[1:] - ends[:-1], 0)
    found: AnyArray = pc.list_value_length(array)  # type: ignore[arg-type]
    counts: npt.NDArray[np.int64] = np.nan_to_num(found.to_numpy(zero_copy_only=False)).astype(np.int64)
    return counts  # nulls were NaN


def offsets(counts: npt.NDArray[np.int64]) -> AnyArray:
    """Return the offsets of lists, or maps, with so many elements each."""
    return pa.array(np.concatenate([[0], np.cumsum(counts, dtype=np.int64)]), pa.int32())


def is_list(type_: pa.DataType) -> bool:
    """Tell whether it is a type of lists, of whatever kind."""
    return pa.types.is_list(type_) or pa.types.is_large_list(type_) or pa.types.is_fixed_size_list(type_)


def requires(type_: pa.DataType) -> bool:
    """Tell whether something inside of a type must have a value."""
    if not pa.types.is_nested(type_):
        return False
    inside = [type_.field(at) for at in range(type_.num_fields)]
    if isinstance(type_, pa.MapType):
        inside = [pa.field("key", type_.key_type), type_.item_field]  # the entries and their keys always are there
    return any(not field.nullable or requires(field.type) for field in inside)


def require_keys_once(array: AnyArray) -> None:
    """Raise `InexactError` where a map, wherever it is inside, has a key twice: which of the two is meant?"""
    if not _has_maps(array.type):
        return
    if isinstance(array, pa.MapArray):
        keys, items = entries(array)
        counts = lengths(array)
        if _have_one_twice(keys, counts[counts > 0]):
            raise InexactError
        require_keys_once(keys)
        require_keys_once(items)
    elif isinstance(array, pa.StructArray):
        for part in array.flatten():
            require_keys_once(part)
    elif is_list(array.type):
        require_keys_once(array.flatten())  # type: ignore[attr-defined]


def with_required(array: AnyArray, type_: pa.DataType) -> AnyArray:
    """Return values of a type but for what that requires; raises `InexactError` where a null stands that must not.

    What has no null may be read without a look at whether there is one: as 0, or as what was there before.
    """
    if not requires(type_):
        return array
    mask = array.is_null() if array.null_count else None
    if isinstance(type_, pa.StructType):
        assert isinstance(array, pa.StructArray)
        parts = [with_required(part, field.type) for part, field in zip(array.flatten(), type_.fields, strict=True)]
        # of a null structure each field is null
        if any(p.null_count > array.null_count and not f.nullable for p, f in zip(parts, type_.fields, strict=True)):
            raise InexactError
        return pa.StructArray.from_arrays(parts, fields=list(type_.fields), mask=mask)
    if isinstance(type_, pa.MapType):
        keys, items = entries(array)
        own, others = with_required(keys, type_.key_type), with_required(items, type_.item_type)
        if others.null_count and not type_.item_field.nullable:
            raise InexactError
        return pa.MapArray.from_arrays(offsets(lengths(array)), own, others, type=type_, mask=mask)  # type: ignore[call-overload, no-any-return]
    assert is_list(type_), "other types require nothing inside"
    inside = with_required(array.flatten(), type_.value_type)  # type: ignore[attr-defined]
    if inside.null_count and not type_.value_field.nullable:  # type: ignore[attr-defined]
        raise InexactError
    return pa.ListArray.from_arrays(offsets(lengths(array)), inside, type=type_, mask=mask)  # type: ignore[call-overload, no-any-return]


def _has_maps(type_: pa.DataType) -> bool:
    if pa.types.is_map(type_):
        return True
    return pa.types.is_nested(type_) and any(_has_maps(type_.field(at).type) for at in range(type_.num_fields))


def _have_one_twice(keys: AnyArray, counts: npt.NDArray[np.int64]) -> bool:
    """Tell whether any run of so many keys has one twice; equal is what is equal as a key."""
    if pa.types.is_nested(keys.type):
        ends = np.cumsum(counts).tolist()
        values: Sequence[object] = keys.to_pylist()  # type: ignore[misc]  # the stubs know it for single types only
        return any(has_one_twice(values[end - count : end]) for end, count in zip(ends, counts.tolist(), strict=True))
    settled = settled_array(pa.chunked_array([keys])).combine_chunks()
    maps: AnyArray = pa.array(np.repeat(np.arange(len(counts)), counts))
    table = pa.table([maps, settled], names=["map", "key"])
    return table.group_by(["map", "key"], use_threads=False).aggregate([]).num_rows < len(keys)
