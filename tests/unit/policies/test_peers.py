"""Misses equal to libCacheSim's, or near them, on a public trace; the whole table is benchmarks/agreement.py's."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.long
@pytest.mark.needs("public_traces")
def test_the_table_of_agreement_holds_on_oltp():
    command = [sys.executable, "benchmarks/agreement.py", "--trace", "OLTP", "--share", "0.1"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("| nothing |") == 7 and done.stdout.count("| 0.3 points |") == 4
    assert "none of" in done.stdout


def test_a_table_that_does_not_hold_ends_with_status_1(tmp_path):
    code = (
        "import sys; sys.path.insert(0, 'benchmarks'); import agreement, peers, numpy as np\n"
        "from pathlib import Path\n"
        "agreement.COMPARED = (('fifo', 'lru', 0.0),)\n"
        "ids = np.random.default_rng(1).zipf(1.2, 5000).astype(np.int32) % 500\n"
        "ids = np.unique(ids, return_inverse=True)[1].astype(np.int32)\n"
        f"print(agreement.compare(peers.Ids('x', ids, Path({str(tmp_path)!r})), [50]))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert "**out**" in done.stdout and "fifo on x" in done.stdout


def test_the_table_of_memory_counts_the_arrays_of_a_state_within_a_state(tmp_path):
    code = (
        "import sys; sys.path.insert(0, 'benchmarks'); import policies, peers, numpy as np\n"
        "from pathlib import Path\n"
        f"ids = peers.Ids('x', np.arange(1000, dtype=np.int32), Path({str(tmp_path)!r}))\n"
        "print(*(policies.state_bytes(own, ids, 100) for own in ('arc', 'marc')))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    arc, marc = map(int, done.stdout.split())
    assert marc > arc + 8 * 1000  # the filter's links come on top of ARC's own
