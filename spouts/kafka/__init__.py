"""Kafka as a source: spouts, metadata, client options, errors."""
