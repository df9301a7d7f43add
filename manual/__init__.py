"""The manual: README, docs/, examples and the reference of docstrings as pages that a browser shows without network."""
