"""Offline oracles that label a trace."""
