"""What a sink asks of a cluster, small enough to be served from memory, and the two clients that serve it."""
