"""Spouts over folders of files: each file is read once, in the order in which they were found."""
