"""One module for each eviction policy: its state, `make`, and the steps `has`, `touch`, `insert`."""
