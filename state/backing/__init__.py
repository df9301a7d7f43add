"""States in a user's own key-value store, by two functions: get many, put many."""
