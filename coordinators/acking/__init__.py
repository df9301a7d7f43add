"""Edges, the acker that counts those of ranges, and the ackers of messages' trees."""
