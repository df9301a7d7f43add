"""What the pages for users hold: their blocks, and what each of them is held to."""
