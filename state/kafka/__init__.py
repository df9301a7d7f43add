"""Kafka topics as a target: the rows of a txid and the marker that says so, in one Kafka transaction."""
