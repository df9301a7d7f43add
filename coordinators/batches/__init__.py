"""One batch from its plan to done: the loop, the threads around it, and the work they do."""
