"""Which stream of a multi-stream SSD a write goes to: FIOS learns it on one cycle, and serves the next."""
