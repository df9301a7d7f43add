"""What can be done to a stream: one operation is one small class with its lowering to a Spark frame."""
