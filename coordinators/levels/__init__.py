"""The two weaker levels: where a batch is written, around the record that says that it is done."""
