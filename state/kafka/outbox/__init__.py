"""Records that wait beside the ledger: laid down by the pin's own transaction, sent when their txid is done."""
