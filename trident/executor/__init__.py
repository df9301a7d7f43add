"""What runs inside Spark's Python processes."""
