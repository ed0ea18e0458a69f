"""Pydantic schemas of params.yaml, and how it is composed and loaded."""

from cachezoo.config.load import load_params

__all__ = ["load_params"]
