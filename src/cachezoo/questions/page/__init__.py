"""Page caches: which policy, which size."""
