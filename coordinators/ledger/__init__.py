"""The durable record of plans, pins and commits."""
