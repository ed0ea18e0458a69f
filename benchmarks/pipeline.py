"""Times each stage of `make repro` beside its budget, the whole run, and one that finds nothing to do.

    .venv/bin/python benchmarks/pipeline.py --force

With --force every stage runs, else those that are out of date; --jobs says how many at once. A stage's time is from
when the runner begins it to when it has ended, so DVC's own work on it (hashing, waiting for the other) is in it.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).parents[1]
# Seconds from nothing, installed, and with nothing to do, on 2 cores; stages run two at a time.
WHOLE_S, NOTHING_S = 720, 5
# Seconds of all of a stage's items together, on 2 cores.
BUDGET_S = {
    "sources": 3,
    "compose": 3,
    "ingest": 35,
    "replay": 35,
    "label_benefit": 35,
    "features": 30,
    "label_episodes": 40,
    "fit_workload": 16,
    "judge_workload": 4,
    "fit_caching": 197,
    "judge_caching": 30,
    "fit_admission": 6,
    "judge_admission": 9,
    "fit_prefetch": 9,
    "judge_prefetch": 11,
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


def run(*arguments: str) -> tuple[list[dict], float]:
    """Run what `make repro` runs; what the runner says of each stage, and the seconds of the whole."""
    with tempfile.TemporaryDirectory() as folder:
        times = Path(folder) / "times"
        command = [str(ROOT / ".venv/bin/python"), "scripts/repro.py", "--times", str(times), *arguments]
        begin = time.monotonic()
        done = subprocess.run(command, cwd=ROOT, stdout=sys.stderr, check=False)
        seconds = time.monotonic() - begin
        if done.returncode:
            sys.exit(f"the run failed with status {done.returncode}, see above")
        lines = times.read_text(encoding="utf-8").splitlines() if times.exists() else []
    return [json.loads(line) for line in lines], seconds


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--force", action="store_true", help="run every stage")
    parser.add_argument("--jobs", metavar="N", help="stages at a time, if not as many as `make repro` runs")
    options = parser.parse_args()
    jobs = ["--jobs", options.jobs] if options.jobs else []
    stages, whole = run(*jobs, *(["--force"] if options.force else []))
    _, nothing = run()
    seconds = {stage["stage"]: stage["end"] - stage["start"] for stage in stages if stage["ran"]}
    table = Table("stage", "items", "seconds", "longest", "budget")
    for name in dict.fromkeys(stage.split("@")[0] for stage in seconds):
        own = [took for stage, took in seconds.items() if stage.split("@")[0] == name]
        table.add_row(name, str(len(own)), f"{sum(own):.0f}", f"{max(own):.0f}", str(BUDGET_S.get(name, "")))
    total = sum(seconds.values())
    table.add_row("sum of the stages", str(len(seconds)), f"{total:.0f}", "", str(sum(BUDGET_S.values())))
    table.add_row("the run, from start to end", "", f"{whole:.0f}", "", str(WHOLE_S))
    table.add_row("a run with nothing to do", "", f"{nothing:.1f}", "", str(NOTHING_S))
    Console().print(table)


if __name__ == "__main__":
    main()
