"""Real servers for local use (demo, tests, benchmarks): Kafka and PostgreSQL on free loopback ports.

Nothing else in this library imports this package. It needs Java 17 or newer (Kafka) and the extra
`trident-pyspark[local]` (PostgreSQL binaries).
"""
