"""Classics without a model, as bundles: a composition of the simulator's grammar with its values."""
