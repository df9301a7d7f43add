"""What the third version added: timers, and what was received of spouts without positions; never changed again."""

from __future__ import annotations

VERSION_3: tuple[str, ...] = (
    "ALTER TABLE trident_plan ADD COLUMN timers TEXT NOT NULL DEFAULT '[]'",
    "ALTER TABLE trident_plan ADD COLUMN received TEXT NOT NULL DEFAULT '[]'",
)
