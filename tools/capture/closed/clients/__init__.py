"""Clients that drive a program in a closed loop; each is a program itself, started in the memory group."""
