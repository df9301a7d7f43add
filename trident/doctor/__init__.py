"""Looking at all that a topology stands on, and changing nothing: what is away, missing, open or left behind."""
