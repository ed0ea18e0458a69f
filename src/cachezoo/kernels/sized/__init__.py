"""Caches of objects with sizes: the loop, and one module for each eviction and admission that pages do not have."""
