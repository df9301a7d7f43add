"""Connections, transactions and driver errors, one module per kind of database."""
