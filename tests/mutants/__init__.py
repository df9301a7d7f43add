"""Guards of the product removed one at a time, to see that a test notices each of them."""
