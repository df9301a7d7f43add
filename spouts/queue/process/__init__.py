"""The process of a spout: what runs in it, how the coordinator starts it, and what they say to each other."""
