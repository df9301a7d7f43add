"""What the SQL stores share: the order of statements is written once, dialects only differ in their texts."""
