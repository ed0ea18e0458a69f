"""Times each stage of `make repro` beside its budget; with --force every stage runs, else those that are out of date.

    .venv/bin/python benchmarks/pipeline.py --force

A stage's time is from its start to the next one's, so DVC's own work (hashing, the lock file) is in it.
"""

import argparse
import re
import subprocess
import sys
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).parents[1]
# Seconds of all of a stage's items together, on 2 cores; the whole is the house's ten minutes.
BUDGET_S = {
    "sources": 3,
    "compose": 3,
    "ingest": 35,
    "replay": 35,
    "label_benefit": 35,
    "features": 30,
    "label_episodes": 40,
    "train_workload": 20,
    "train_caching": 227,
    "train_admission": 15,
    "train_prefetch": 20,
    "evaluate": 30,
    "evaluate_objects": 10,
    "evaluate_flash": 20,
    "evaluate_workload": 12,
    "export_admission": 12,
    "export_prefetch": 12,
    "export_caching": 20,
    "export_workload": 3,
    "report": 12,
    "track": 6,
}


def stage_times(arguments: list[str]) -> list[tuple[str, float]]:
    """Run what `make repro` runs and time its stages, in their order."""
    command = [str(ROOT / ".venv/bin/python"), "scripts/repro.py", *arguments]
    marks: list[tuple[str, float]] = []
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        for line in process.stdout or ():
            found = re.match(r"Running stage '(.+)':", line)
            if found:
                marks.append((found[1], time.monotonic()))
                Console(stderr=True).print(f"{len(marks)} {found[1]}", highlight=False)
        if process.wait():
            sys.exit(f"dvc repro failed with status {process.returncode}: run it by itself to see why")
    ends = [*(when for _, when in marks[1:]), time.monotonic()]
    return [(name, end - begin) for (name, begin), end in zip(marks, ends, strict=True)]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--force", action="store_true", help="run every stage")
    begin = time.monotonic()
    times = stage_times(["-f"] if parser.parse_args().force else [])
    whole = time.monotonic() - begin
    table = Table("stage", "items", "seconds", "longest", "budget")
    for name in dict.fromkeys(stage.split("@")[0] for stage, _ in times):
        own = [seconds for stage, seconds in times if stage.split("@")[0] == name]
        table.add_row(name, str(len(own)), f"{sum(own):.0f}", f"{max(own):.0f}", str(BUDGET_S.get(name, "")))
    table.add_row("all, with DVC's start", str(len(times)), f"{whole:.0f}", "", str(sum(BUDGET_S.values())))
    Console().print(table)


if __name__ == "__main__":
    main()
