"""`dvc repro`, some stages at a time: see src/cachezoo/repro."""

import os
import sys
from pathlib import Path

from cachezoo.repro.run import main

if __name__ == "__main__":
    os.chdir(Path(__file__).resolve().parents[1])
    raise SystemExit(main(sys.argv[1:]))
