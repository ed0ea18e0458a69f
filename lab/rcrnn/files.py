"""Where the figures' files lie."""

from pathlib import Path

FOLDER = Path("lab/results/rcrnn")
