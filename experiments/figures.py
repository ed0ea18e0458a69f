"""What `make figures` runs: what the experiments read up to date, then their stages, then their tables."""

import os
import subprocess
import sys
from pathlib import Path

from cachezoo.console import out
from cachezoo.evaluation.reconfigure import document, plot
from cachezoo.figures import fios, hca, pages, virtual
from cachezoo.stage import guarded
from cachezoo.systems.reuse import carried, carried_plot, goals

ROOT = Path(__file__).resolve().parents[1]
INPUTS = ("ingest", "corpus", "evaluate", "evaluate_workload")


def main() -> int:
    """Exit status: 0, or that of what failed."""
    os.chdir(ROOT)
    os.environ.setdefault("DVC_SITE_CACHE_DIR", str(ROOT / ".cache/dvc"))
    for command in (["-m", "dvc", "repro", *INPUTS], ["-m", "dvc", "--cd", "experiments", "repro"]):
        status = subprocess.run([sys.executable, *command], check=False).returncode
        if status:
            return status
    with guarded("figures"):
        figures, streams, tiers = pages.read_figures(), fios.read_fios(fios.FILE), hca.read_hca(hca.FILE)
        shared = virtual.read_virtual(virtual.FILE)
        out().print(
            *carried_plot.tables(carried.read_carry_over(carried.FILE)),
            *goals.tables(goals.read_goals(goals.FILE)),
            *plot.tables(document.read_reconfigured(document.FILE)),
            *pages.tables(figures),
            *pages.fios_tables(streams),
            *pages.hca_tables(tiers),
            *pages.virtual_tables(shared),
        )
    return 0


if __name__ == "__main__":
    try:
        raise SystemExit(main())
    except KeyboardInterrupt:
        sys.stderr.write("figures: interrupted; run the same again to go on\n")
        raise SystemExit(130) from None
