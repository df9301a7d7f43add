"""Deciding about a topology, from Python."""
