"""Clients that drive a program; each is a program itself, which needs the standard library only."""
