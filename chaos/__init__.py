"""Real kills: everything real, faults fired by progress, a verdict on every record. `make chaos`."""
