"""Holding a topology: taking the lease, taking over, running, giving back."""
