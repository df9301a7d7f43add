"""Spark, Kafka and PostgreSQL on this machine, on free loopback ports: nothing to install but Java 17."""
