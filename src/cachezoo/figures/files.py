"""Where the figures' files lie."""

from pathlib import Path

FOLDER = Path("experiments/rcrnn")
