"""Caches of objects with sizes: requests by identity, a capacity in bytes, hits by object and by byte."""
