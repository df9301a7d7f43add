"""What the fourth version added: births of states, and the streams that a reset was for; never changed again."""

from __future__ import annotations

VERSION_4: tuple[str, ...] = (
    "ALTER TABLE trident_incarnation ADD COLUMN births TEXT",
    "ALTER TABLE trident_reset ADD COLUMN streams TEXT",
)
