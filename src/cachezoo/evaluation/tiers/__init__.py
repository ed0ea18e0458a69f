"""What the same money does as RAM alone or as RAM and an SSD: chosen on validation, judged on test traces."""
