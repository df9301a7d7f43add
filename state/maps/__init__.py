"""States over a key-value store of the user's own."""
