"""Metrics, comparisons and their tables."""
