"""The two ways to read ranges of Kafka topics: Arrow in the tasks, or Spark's own connector."""
