"""Every operation of the language beside the same in plain Spark DataFrames: `make bench-operations`."""
