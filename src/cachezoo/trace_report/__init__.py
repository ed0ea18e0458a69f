"""A trace as a page: what its numbers mean for a cache, in sentences, plots and tables."""
