"""The examples of README.md and docs/: what a page's commands print, and the plots that they draw.

`python -m scripts.pictures [NAME…]` runs the commands of the table below on traces of the repository, writes their
output into the page's blocks, and their plots into docs/img. They run as in a clone in which nothing is trained yet.
"""

import os
import shlex
import subprocess
import sys
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from PIL import Image

from cachezoo.errors import CachezooError
from cachezoo.io import atomic_file
from cachezoo.show.markdown import between

ROOT = Path(__file__).resolve().parents[1]
IMAGES = ROOT / "docs/img"
README = ROOT / "README.md"
BLOCK = "example"
PROGRAM = "import sys; from cachezoo.cli import main; sys.argv[0] = 'cachezoo'; main()"
INPUTS = ("conf", "data")
TRACES = "data/raw/captured"
WIDTH = 100
COLOURS = 64
LEFT_OUT = "…"


@dataclass(frozen=True)
class Example:
    """A command as its page shows it.

    Attributes:
        command: with its inputs below the project's root, and `-o NAME.png` if it draws a plot.
        lines: of its output that the page shows, the first ones; without, all.
        block: of the page, where it is shown.
    """

    command: str
    lines: int | None = None
    block: str = BLOCK

    @property
    def plot(self) -> str | None:
        """The name of its plot."""
        return next((word for word in shlex.split(self.command) if word.endswith(".png")), None)

    @property
    def typed(self) -> list[str]:
        """The lines to type: a long command goes on behind a backslash."""
        parts = textwrap.wrap(
            f"$ {self.command}", WIDTH - 2, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False
        )
        return [*(f"{part} \\" for part in parts[:-1]), parts[-1]]

    def shown(self, output: str) -> str:
        """The block of the page.

        Args:
            output: what the command printed.
        """
        lines = [part for line in output.strip("\n").splitlines() for part in wrapped(line)]
        if self.lines is not None and len(lines) > self.lines:
            lines = [*lines[: self.lines], LEFT_OUT]
        return "\n".join(["```console", *self.typed, *lines, "```"]) + "\n"


# By the page's name, which more of the same page follow behind a colon.
EXAMPLES: Mapping[str, Example] = {
    "README": Example(f".venv/bin/cachezoo recommend {TRACES}/database_mariadb.parquet", block="answer"),
    "recommend": Example(f"cachezoo recommend {TRACES}/database_mariadb.parquet --no-models"),
    "size": Example(
        f"cachezoo recommend --only ram-ssd {TRACES}/database_mariadb.parquet --working-set 64GiB -o size.png", 14
    ),
    "curves": Example(
        f"cachezoo curve {TRACES}/database_mariadb.parquet --policy lru --policy s3fifo --policy belady_bypass "
        "--points 12 -o curve.png"
    ),
    "flash": Example(
        f"cachezoo recommend --only flash {TRACES}/web_test.parquet --write-rate 10%,25% --prefetch 'none,next(8)' "
        "-o flash.png", 13
    ),
    "share": Example(
        f"cachezoo recommend --only share {TRACES}/database_test.parquet {TRACES}/web_test.parquet "
        f"{TRACES}/mail_test.parquet {TRACES}/fileserver_test.parquet --size 10% "
        "--partitioner 'shared,shared(policy=s3fifo),equal,ucp,gvpa,static-best' -o share.png", 18
    ),
    "trace-report": Example(f"cachezoo trace report {TRACES}/database_mariadb.parquet", 12),
    "tiers": Example(
        f"cachezoo recommend --only tiers {TRACES}/database_mariadb.parquet --ram 16MiB --ssd 256MiB -o tiers.png", 21
    ),
    "wear": Example(
        f"cachezoo recommend --only wear {TRACES}/ledger.parquet --streams 1,16 "
        "--placement legacy,equal,autostream,lifetime,oracle -o wear.png", 12
    ),
    "virtual": Example(
        f"cachezoo compare {TRACES}/database_test.parquet --policy vrm --policy 'vrm(cost=1)' --policy lru "
        "--size 16MiB -o virtual.png"
    ),
}  # fmt: skip


def printed(example: Example, folder: Path) -> str:
    """What a command prints.

    Args:
        example: the command.
        folder: where it runs, and leaves its plot.

    Raises:
        CachezooError: it failed.
    """
    for name in INPUTS:
        link = folder / name
        if not link.exists():
            link.symlink_to(ROOT / name)
    words = shlex.split(example.command)
    environment = os.environ | {"COLUMNS": str(WIDTH), "NO_COLOR": "1", "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *words[1:]],
        cwd=folder, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise CachezooError(f"{example.command}: {done.stderr.strip()}")
    return done.stdout


def wrapped(line: str) -> list[str]:
    """A line as a terminal shows it: a long sentence goes on in the next; what is set in holds a command, and stays.

    Args:
        line: without its end.
    """
    line = line.rstrip()
    return textwrap.wrap(line, WIDTH) if len(line) > WIDTH and not line[0].isspace() else [line]


def shrink(plot: Path, image: Path) -> None:
    """Write a plot in few colours, which takes a third of the room.

    Args:
        plot: as it was drawn.
        image: the file to write.
    """
    with Image.open(plot) as drawn:
        few = drawn.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    with atomic_file(image) as temporary:
        few.save(temporary, "PNG", optimize=True)


def page_of(name: str) -> Path:
    """The page that shows an example."""
    page = name.split(":")[0]
    return README if page == README.stem else ROOT / "docs" / f"{page}.md"


def update(name: str) -> None:
    """Run a page's example, and write its output and its plot."""
    example, page = EXAMPLES[name], page_of(name)
    with TemporaryDirectory() as place:
        inside = example.shown(printed(example, Path(place)))
        text = between(page.read_text(encoding="utf-8"), example.block, inside, page)
        if example.plot:
            shrink(Path(place) / example.plot, IMAGES / example.plot)
    with atomic_file(page) as temporary:
        temporary.write_text(text, encoding="utf-8")


def main(names: list[str]) -> int:
    """Update the examples named, or all.

    Args:
        names: of pages.
    """
    unknown = [name for name in names if name not in EXAMPLES]
    if unknown:
        sys.stderr.write(f"pictures: no example {unknown[0]}; there are {', '.join(EXAMPLES)}\n")
        return 2
    for name in names or EXAMPLES:
        try:
            update(name)
        except CachezooError as error:
            sys.stderr.write(f"pictures: {error}\n")
            return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
