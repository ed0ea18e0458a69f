"""Captures of block requests: real programs on a loop device with a filesystem, by the recipes in recipes/."""
