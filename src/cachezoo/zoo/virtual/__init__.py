"""The virtual I/O cache of a category: its replacement queue, what is tuned of it, and the profile of a warm start."""
