"""The virtual I/O cache: queues by positions, their value, and what of them is in the cache."""
