"""What is in the body of a message, and how it becomes values."""
