"""What each attempt will read."""
