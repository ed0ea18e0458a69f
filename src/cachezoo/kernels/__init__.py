"""Compiled kernels: arrays in, arrays out; no pandas, no I/O."""
