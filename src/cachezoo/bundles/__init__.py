"""Bundles: what a cache runtime loads and can verify."""
