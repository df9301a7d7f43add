"""What acking costs: of batches, and of each message."""
