"""What can be made of the records of a group: one module per aggregator, or per family of them."""
