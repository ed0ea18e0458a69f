"""Caches that people run before a disk, as their sources behave: requests in, I/Os of both devices out."""
