"""Synthetic traces fitted to real ones: the same statistics, and no address of the original."""
