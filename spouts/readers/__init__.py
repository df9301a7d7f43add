"""Readers: how planned ranges become rows of a Spark job, each with a manifest."""
