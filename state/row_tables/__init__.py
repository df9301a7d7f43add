"""Sinks in SQL databases: a stream's records as rows of a table, also of one that is there already."""
