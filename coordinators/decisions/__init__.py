"""What a person decides: reset, retry, divert, undo; and the refusals that wait for it."""
