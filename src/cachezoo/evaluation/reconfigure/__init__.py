"""Caches that change their model when the workload changes, beside those that do not (RC-RNN, Fig. 17)."""
