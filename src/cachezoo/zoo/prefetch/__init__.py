"""Baleen's prefetch: ML-Range and ML-When, forests that say what a miss fetches at once, and whether to."""
