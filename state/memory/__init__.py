"""States that live and die with their process, for tests and examples."""
