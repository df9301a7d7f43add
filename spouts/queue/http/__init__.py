"""Messages that are posted, and answered when they are done."""
