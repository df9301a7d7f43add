"""What a person decides: retry, divert, undo, reset; each is a take-over with a record of its own."""
