"""How a topology runs on Spark: compiled graphs, the processor of batches, staging and error mapping."""
