"""Decoders: how the bytes of a record become fields."""
