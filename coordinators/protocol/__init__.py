"""The pure protocol: messages, the state they move, the table of legal moves."""
