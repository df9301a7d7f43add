"""Sources whose messages have ids."""
