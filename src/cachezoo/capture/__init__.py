"""Capture of a block device of this machine: its requests, watched through tracefs."""
