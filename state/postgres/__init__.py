"""States in PostgreSQL: binary COPY, then one set-based merge."""
