"""Edges, and the acker that counts them."""
