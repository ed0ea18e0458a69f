"""A page cache that follows the best of classics and of a forest that says when a page is used again."""
