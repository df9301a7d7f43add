"""What a topology is written in."""
