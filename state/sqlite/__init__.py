"""States in a SQLite file: the embedded default, held updates only."""
