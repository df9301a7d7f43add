"""Where batches come from: spouts, their readers and decoders."""
