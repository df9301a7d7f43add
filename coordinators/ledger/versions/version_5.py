"""What the fifth version added: where a reset begins in numbers, and where it stood before; never changed."""

from __future__ import annotations

VERSION_5: tuple[str, ...] = (
    "ALTER TABLE trident_reset ADD COLUMN begins TEXT",
    "ALTER TABLE trident_reset ADD COLUMN stood TEXT",
)
