"""Running a topology and deciding about it, from Python."""
