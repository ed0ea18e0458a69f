"""Captures in a closed loop: phases of a mix each, as long as so many requests of the device, for the corpus."""
