"""Sources whose messages have ids and want an ack each: a process of its own asks them, batches are made here."""
