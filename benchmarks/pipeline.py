"""Times `dvc repro`: the whole run, each stage of it, and a run that finds nothing to do.

    .venv/bin/python benchmarks/pipeline.py --force

With --force every stage runs and every job is done, else those that are out of date.
"""

import argparse
import json
import shutil
import subprocess
import sys
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table

from cachezoo.kept import KEPT
from cachezoo.to_go import FILE

ROOT = Path(__file__).parents[1]
# Seconds from nothing, installed, and with nothing to do, on 2 cores.
WHOLE_S, NOTHING_S = 720, 5


def run(*arguments: str) -> float:
    """Seconds of a `dvc repro`."""
    begin = time.monotonic()
    command = [str(ROOT / ".venv/bin/dvc"), "repro", *arguments]
    done = subprocess.run(command, cwd=ROOT, stdout=sys.stderr, check=False)
    if done.returncode:
        sys.exit(f"the run failed with status {done.returncode}, see above")
    return time.monotonic() - begin


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--force", action="store_true", help="run every stage and do every job")
    options = parser.parse_args()
    if options.force:
        shutil.rmtree(ROOT / KEPT, ignore_errors=True)
        (ROOT / FILE).unlink(missing_ok=True)
    whole = run(*(["--force"] if options.force else []))
    seconds = json.loads((ROOT / FILE).read_text(encoding="utf-8"))["seconds"] if (ROOT / FILE).exists() else {}
    nothing = run()
    table = Table("stage", "seconds", "at most")
    for name, took in seconds.items():
        table.add_row(name, f"{took:.0f}", "")
    table.add_row("all stages", f"{sum(seconds.values()):.0f}", "")
    table.add_row("the run, from start to end", f"{whole:.0f}", str(WHOLE_S))
    table.add_row("a run with nothing to do", f"{nothing:.1f}", str(NOTHING_S))
    Console().print(table)


if __name__ == "__main__":
    main()
