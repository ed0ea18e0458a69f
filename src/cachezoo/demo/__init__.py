"""`cachezoo demo`: a small trace, the cache that is recommended for it, and that cache at work before a slow disk."""
