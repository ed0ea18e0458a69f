"""One module for each admission policy: its state, `make`, and the steps `admit`, `saw`."""
