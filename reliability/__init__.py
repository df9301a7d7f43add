"""A published reliability study of Storm, done again here: what is lost and what comes twice, at each level."""
