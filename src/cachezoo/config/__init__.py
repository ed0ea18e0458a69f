"""Pydantic schemas of params.yaml, and how it is composed and loaded."""
