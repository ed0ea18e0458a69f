"""The two commands of README.md with what they print: `python -m scripts.readme` runs them and writes both blocks.

They run as in a clone in which nothing is trained yet, on a trace that comes with the project.
"""

import os
import shlex
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from cachezoo.io import atomic_file
from cachezoo.show.markdown import between

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
TRACE = "data/raw/captured/database_mariadb.parquet"
COMMANDS: Mapping[str, str] = {
    "answer": f".venv/bin/cachezoo recommend {TRACE}",
    "sizes": f".venv/bin/cachezoo curve {TRACE} --policy lru --policy s3fifo --policy belady_bypass "
    "--size 64MiB,128MiB,256MiB",
}
PROGRAM = "import sys; from cachezoo.cli import main; sys.argv[0] = 'cachezoo'; main()"
INPUTS = ("conf", "data")


def printed(command: str) -> str:
    """What a command prints.

    Args:
        command: as README.md has it.
    """
    environment = os.environ | {"COLUMNS": "100", "NO_COLOR": "1", "PYTHONPATH": str(ROOT / "src")}
    with TemporaryDirectory() as place:
        for name in INPUTS:
            (Path(place) / name).symlink_to(ROOT / name)
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, *shlex.split(command)[1:]],
            cwd=place, env=environment, stdout=subprocess.PIPE, text=True, check=True,
        )  # fmt: skip
    return "".join(f"{line.rstrip()}\n" for line in done.stdout.strip("\n").splitlines())


def block(name: str) -> str:
    """A block of README.md: the command, and what it prints."""
    return f"```console\n$ {COMMANDS[name]}\n{printed(COMMANDS[name])}```\n"


def main() -> int:
    """Write both blocks anew."""
    text = README.read_text(encoding="utf-8")
    for name in COMMANDS:
        text = between(text, name, block(name), README)
    with atomic_file(README) as temporary:
        temporary.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
