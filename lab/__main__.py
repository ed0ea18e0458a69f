"""What `make figures` runs: inputs, stages and public traces are run, tables are printed, the page is written."""

import os
import subprocess
import sys
from pathlib import Path

from cachezoo import paths
from cachezoo.config.load import load_params
from cachezoo.console import out
from cachezoo.io import write_json
from cachezoo.show.output import drawn
from cachezoo.stage import guarded
from cachezoo.zoo.reuse.metrics import read_metrics
from lab import goals, pages
from lab.baleen import document as baleen
from lab.baleen import public as baleen_public
from lab.carry_over import document as carried
from lab.carry_over import plot as carried_plot
from lab.fios import document as fios
from lab.hca import document as hca
from lab.rcrnn import public, public_plot
from lab.reconfigure import document, plot
from lab.retrained import document as retrained
from lab.virtual import document as virtual

ROOT = Path(__file__).resolve().parents[1]
INPUTS = ("ingest", "corpus", "evaluate", "evaluate_workload", "evaluate_reuse")


def main() -> int:
    """Exit status: 0, or that of what failed."""
    os.chdir(ROOT)
    os.environ.setdefault("DVC_SITE_CACHE_DIR", str(ROOT / ".cache/dvc"))
    for command in (["-m", "dvc", "repro", *INPUTS], ["-m", "dvc", "--cd", "lab", "repro"]):
        status = subprocess.run([sys.executable, *command], check=False).returncode
        if status:
            return status
    with guarded("figures"):
        update_public()
        figures, streams, tiers = pages.read_figures(), fios.read_fios(fios.FILE), hca.read_hca(hca.FILE)
        shared, reuse = virtual.read_virtual(virtual.FILE), read_metrics(paths.overall_metrics("reuse"))
        out().print(
            *carried_plot.tables(carried.read_carry_over(carried.FILE)),
            drawn(goals.table(reuse)),
            drawn(retrained.table(retrained.read_retrained(retrained.FILE), reuse)),
            *plot.tables(document.read_reconfigured(document.FILE)),
            *pages.tables(figures),
            *public_plot.tables(public.read_public(public.FILE)),
            *pages.fios_tables(streams),
            *pages.hca_tables(tiers),
            *pages.virtual_tables(shared),
            *pages.baleen_tables(baleen.read_baleen(baleen.FILE)),
            drawn(baleen_public.table(baleen_public.read_public(baleen_public.FILE))),
        )
        pages.write_page()
    return 0


def update_public() -> None:
    """Run the caches on public traces where there are some, or say in a line that it was not done."""
    found = public.measured(public.Settings.of(load_params()))
    if found is not None:
        public_plot.draw(found, public.PLOT)
        write_json(public.FILE, found.model_dump(mode="json"))
    baleen_public.update()


if __name__ == "__main__":
    try:
        raise SystemExit(main())
    except KeyboardInterrupt:
        sys.stderr.write("figures: interrupted; run the same again to go on\n")
        raise SystemExit(130) from None
