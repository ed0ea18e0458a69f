"""The report: one HTML page and its plots, made from stage outputs alone."""
