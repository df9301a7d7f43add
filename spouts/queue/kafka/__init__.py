"""Kafka read by a consumer group, record by record."""
