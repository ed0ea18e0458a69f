"""What a trace is, as numbers: load, sizes, footprint, working set, reuse, popularity, patterns, who, and latency."""
