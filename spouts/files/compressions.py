"""How compressed files begin: no such file holds lines, whatever its name says."""

from __future__ import annotations

from typing import Final

_MARKS: Final = {
    b"\x1f\x8b": "a gzip file",
    b"\x28\xb5\x2f\xfd": "a zstd file",
    b"\xfd7zXZ\x00": "an xz file",
    b"PK\x03\x04": "a zip file",
    b"PK\x05\x06": "a zip file",
    **{b"BZh%d" % level + block: "a bzip2 file" for level in range(1, 10) for block in (b"1AY&SY", b"\x17rE8P\x90")},
}
"""A text may begin with BZh, and a digit too: bzip2 is told by what follows, a block or the end of what is empty."""
LONGEST_MARK: Final = max(map(len, _MARKS))


def compression_of(first: bytes) -> str | None:
    """Return what a file is that begins with these bytes, None where it may hold lines."""
    return next((kind for mark, kind in _MARKS.items() if first.startswith(mark)), None)
