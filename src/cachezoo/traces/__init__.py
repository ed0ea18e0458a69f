"""Canonical request table, readers, capture, statistics."""
