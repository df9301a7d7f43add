"""Exactly-once batches on Spark."""
