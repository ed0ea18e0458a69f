"""RAM before an SSD before a disk: who serves each page, and what is written to the SSD."""
