"""Where results live: states, their stores and the rules of update."""
