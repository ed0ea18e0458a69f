"""Capture of block requests: a real workload on a loop device with a filesystem, watched through tracefs."""
