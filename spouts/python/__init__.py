"""Spouts that a user writes in plain Python: positions on the driver, rows in tasks."""
