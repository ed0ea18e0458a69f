"""The same results with numba and without, in processes of their own."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
HEAD = """
import sys, warnings
warnings.simplefilter("error")
from cachezoo.kernels import jit
jit.HAVE_NUMBA = jit.HAVE_NUMBA and sys.argv[1] == "numba"
"""


def printed(code: str) -> set[str]:
    """What code prints with numba and without; one text where both agree. Neither may warn."""
    env = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}
    commands = [[sys.executable, "-c", HEAD + code, mode] for mode in ("numba", "plain")]
    runs = [subprocess.run(one, capture_output=True, cwd=ROOT, env=env, text=True, check=False) for one in commands]
    assert [run.stderr for run in runs] == ["", ""]
    return {run.stdout.strip() for run in runs}
