"""What a topology is made of, and what is to be read and run of it per batch; without Spark."""
