"""The benchmark of programs in turn before a mounted cache, at work."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from lab.reconfigure.live import FILE, IN_TURN, NAMING, NO_CACHE, PLOT, read_live
from tests.caching_turns import turns as made_bundles
from tests.tools.capture.test_closed_capture import recipe
from tools.capture.programs import PROGRAMS

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.long
@pytest.mark.needs("root", "loop", "cgroup", "capture", "nbdkit", "nbdfuse", "gcc")
def test_two_programs_have_their_turns_before_a_mounted_cache(built, tmp_path):
    """In the smallest form; the data that were written are there after each run, or it fails."""
    monitor, _, pairs, turns = made_bundles(tmp_path)
    bundles = tmp_path / "bundles"
    for path, name in ((monitor, "workload.lstm8"), (pairs, "caching.pairs"), (turns, "caching.turns")):
        shutil.move(path, bundles / name)
    recipes = []
    for program, category in (("postgres", "pairs"), ("nginx", "turns")):
        phase = {"mix": {PROGRAMS[program].operations[0]: 1}, "theta": 1.1, "requests": 50, "pages": 50}
        made = recipe(program, category=category, memory_mib=96, phases=[phase])
        recipes.append(tmp_path / f"{program}.yaml")
        recipes[-1].write_text(yaml.safe_dump(made.model_dump(mode="json", exclude_none=True)))
    command = [sys.executable, "-m", "benchmarks.fig17_live", "--recipes", *recipes, "--bundles", bundles]
    small = ["--seconds", "3", "--repeats", "1", "--cache-mib", "2", "--disk-ms", "1"]
    words = [*map(str, command), *small, "--classics", "--filter", str(built), "--out", str(tmp_path)]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    found = read_live(tmp_path / FILE.name)
    assert [row.cache for row in found.rows] == [NO_CACHE, "pairs's model", "turns's model", IN_TURN, NAMING]
    assert all(one.operations > 0 and one.response_ms > 0 for run in found.runs for one in run.turns)
    assert all(one.accesses > 0 and one.ssd_mib > 0 for run in found.runs[1:] for one in run.turns)
    assert found.rows[-1].takeovers > 0
    assert (tmp_path / PLOT.name).is_file()
