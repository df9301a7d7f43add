"""How a topology runs on Spark: compiled leaves, the processor of batches, staging and error mapping."""
