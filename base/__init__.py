"""Words that every layer shares: errors, identities, digests, clock. It imports no other layer."""
