"""Baleen's flash cache: a trace with its cache and budget, policies at the budget, load of the disk behind it."""
