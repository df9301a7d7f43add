"""States in SQL tables: what all dialects have in common."""
