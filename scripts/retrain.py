"""`make retrain TRACES="a.csv b.csv" CATEGORY=database [TRY=1]`: see src/cachezoo/retrain.py."""

import os
import sys
from pathlib import Path

if __name__ == "__main__":
    os.chdir(Path(__file__).resolve().parents[1])
    try:
        from cachezoo.errors import interrupts_as_such

        with interrupts_as_such():
            from cachezoo.retrain import main  # DVC takes a second, and Ctrl-C may come in it

            status = main(sys.argv[1:])
    except KeyboardInterrupt:
        sys.stderr.write("retrain: interrupted; run the same again to go on\n")
        status = 130
    raise SystemExit(status)
