"""Streams of Redis as a source of messages."""
