"""Real captures side by side: a capture mostly waits, for its schedule or for a program.

`python -m tests.captures FOLDER` takes FOLDER/NAME.yaml, a recipe, to
FOLDER/NAME/t.parquet, each in a process that is forked once everything is imported. What it says is in FOLDER/NAME.out
and .err, and how it ended in FOLDER/NAME.status.
"""

import json
import os
import subprocess
import sys
import traceback
from pathlib import Path

import pyarrow.parquet  # noqa: F401 - once for all that are forked

from tools.capture.__main__ import main

AT_ONCE = 4
ROOT = Path(__file__).resolve().parents[1]


def captured(folder: Path, recipes: dict[str, dict]) -> None:
    """Take recipes to traces, as above.

    Args:
        folder: for all of it; empty.
        recipes: name to the recipe's values; the first begin first.
    """
    for name, values in recipes.items():
        (folder / name).mkdir()
        (folder / f"{name}.yaml").write_text(json.dumps(values))
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}
    subprocess.run([sys.executable, "-m", "tests.captures", str(folder), *recipes], check=True, env=environment)


def capture(folder: Path, name: str) -> None:
    """One of them, by the command line."""
    main([str(folder / f"{name}.yaml"), "-o", str(folder / name / "t.parquet"), "--json"])


def forked(folder: Path, name: str) -> int:
    """The process of one of them."""
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        for number, kind in ((1, "out"), (2, "err")):
            os.dup2(os.open(folder / f"{name}.{kind}", os.O_WRONLY | os.O_CREAT), number)
        capture(folder, name)
        status = 0
    except SystemExit as left:
        status = int(left.code or 0)
    except BaseException:  # noqa: BLE001 - whatever it is, this process must not go on as its parent
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def run(folder: Path, names: list[str]) -> None:
    """All of them, some at once."""
    waiting, running = names[::-1], dict[int, str]()
    while waiting or running:
        while waiting and len(running) < AT_ONCE:
            name = waiting.pop()
            running[forked(folder, name)] = name
        pid, status = os.wait()
        (folder / f"{running.pop(pid)}.status").write_text(str(os.waitstatus_to_exitcode(status)))


if __name__ == "__main__":
    run(Path(sys.argv[1]), sys.argv[2:])
