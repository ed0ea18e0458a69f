"""`make repro`: DVC's pipeline with independent stages side by side."""
