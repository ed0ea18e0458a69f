"""Caches that people run before a disk: which settings suit a trace, against their defaults and against no cache."""
