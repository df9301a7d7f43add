"""What the fifth version added: where a reset begins in numbers, where it stood, whose states it found; fixed."""

from __future__ import annotations

VERSION_5: tuple[str, ...] = (
    "ALTER TABLE trident_reset ADD COLUMN begins TEXT",
    "ALTER TABLE trident_reset ADD COLUMN stood TEXT",
    "ALTER TABLE trident_reset ADD COLUMN foreign_incarnations TEXT",
)
