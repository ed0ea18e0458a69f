"""What no policy can beat, and what hindsight reaches: offline bounds, each in O(n log n) or less."""
