"""Baleen's admission: a forest that says whether what a read missed is worth its flash writes."""
