"""Hit ratio over cache size: `curve` (what one is), `exact`, `sampling`, and `measure`, which chooses between them."""
