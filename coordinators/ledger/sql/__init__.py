"""The ledger over SQLAlchemy: Postgres and SQLite."""
