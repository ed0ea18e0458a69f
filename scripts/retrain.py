"""`make retrain TRACES="a.csv b.csv" CATEGORY=database`: see src/cachezoo/repro/retrain.py."""

import os
import sys
from pathlib import Path

from cachezoo.repro.retrain import main

if __name__ == "__main__":
    os.chdir(Path(__file__).resolve().parents[1])
    raise SystemExit(main(sys.argv[1:]))
