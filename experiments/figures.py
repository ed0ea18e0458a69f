"""What `make figures` runs: traces up to date, then the stages of experiments/dvc.yaml, then their tables."""

import os
import subprocess
import sys
from pathlib import Path

from cachezoo.console import out
from cachezoo.evaluation.reconfigure import document, plot
from cachezoo.systems.reuse.carried import FILE, read_carry_over
from cachezoo.systems.reuse.carried_plot import tables

ROOT = Path(__file__).resolve().parents[1]
INPUTS = ("compose", "ingest", "corpus", "evaluate", "evaluate_workload")


def main() -> int:
    """Exit status: 0, or that of what failed."""
    os.chdir(ROOT)
    os.environ.setdefault("DVC_SITE_CACHE_DIR", str(ROOT / ".cache/dvc"))
    for command in (["scripts/repro.py", *INPUTS], ["-m", "dvc", "--cd", "experiments", "repro"]):
        status = subprocess.run([sys.executable, *command], check=False).returncode
        if status:
            return status
    out().print(*tables(read_carry_over(FILE)))
    out().print(*plot.tables(document.read_reconfigured(document.FILE)))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
