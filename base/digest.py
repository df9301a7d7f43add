"""Order-free digests of sets of positions: equal in every re-run, whatever the task layout.

A digest is (count, sum of low halves, sum of high halves, XOR) of `hash64(seed, position)`.
XOR alone can't see an element three times; the sum modulo 2^64 is kept as two sums of 32-bit
halves, so that SQL can compute the same figures in signed bigint without overflow.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import blake2b
from typing import Self

import numpy as np
import numpy.typing as npt

_MASK_32 = np.uint64(0xFFFFFFFF)
_SHIFT_32 = np.uint64(32)


def seed_of(*parts: str | int) -> int:
    """Return a stable 64-bit seed for a named sequence (say topic and partition)."""
    text = "\x1f".join(str(part) for part in parts).encode()
    return (zlib.crc32(text) << 32) | zlib.crc32(text[::-1] + b"\x1e")


def hash64(seed: int, positions: npt.NDArray[np.int64]) -> npt.NDArray[np.uint64]:
    """Mix each position with the seed (splitmix64, Steele et al., OOPSLA 2014)."""
    with np.errstate(over="ignore"):
        mixed = positions.astype(np.uint64) + np.uint64(seed)
        mixed += np.uint64(0x9E3779B97F4A7C15)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return np.asarray(mixed ^ (mixed >> np.uint64(31)), dtype=np.uint64)


@dataclass(frozen=True, slots=True)
class Digest:
    """What a set of hashed positions adds up to; `a + b` is the digest of both together.

    `xor` is kept as a signed 64-bit number, as SQL stores it; `low` and `high` are plain sums.
    """

    count: int = 0
    low: int = 0
    high: int = 0
    xor: int = 0

    @classmethod
    def of(cls, hashes: npt.NDArray[np.uint64]) -> Self:
        """Return the digest of already hashed positions (see `hash64`)."""
        if len(hashes) == 0:
            return cls()
        return cls(
            count=len(hashes),
            low=int((hashes & _MASK_32).sum(dtype=np.uint64)),
            high=int((hashes >> _SHIFT_32).sum(dtype=np.uint64)),
            xor=int(np.bitwise_xor.reduce(hashes).astype(np.int64)),
        )

    def __add__(self, other: Digest) -> Digest:
        return Digest(
            count=self.count + other.count,
            low=self.low + other.low,
            high=self.high + other.high,
            xor=self.xor ^ other.xor,
        )


def text_digest(texts: Iterable[str]) -> Digest:
    """Return the digest of a set of texts."""
    hashes = [int.from_bytes(blake2b(text.encode(), digest_size=8).digest()) for text in texts]
    return Digest.of(np.array(hashes, dtype=np.uint64))
