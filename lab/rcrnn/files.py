"""Where the figures' files lie, and whose networks they are of."""

from pathlib import Path
from typing import Literal

FOLDER = Path("lab/results/rcrnn")
Network = Literal["ours", "paper"]
OURS: Network = "ours"
PAPER: Network = "paper"  # RC-RNN's own, of lab.rcrnn.published
PAPER_SIZE = 0.2  # of the cache, a share of the distinct pages (Sec. 5.1)
