"""A client that reads and changes files which a program backs up, scans, packs or indexes.

Run as a program, `files.py FOLDER COUNT MEDIAN_KIB SIGMA MAX_KIB CONTENT SEED`, it writes them.
"""

import random
import sys
from pathlib import Path

from tools.capture.clients.commands import Commands
from tools.capture.clients.common import main
from tools.capture.clients.messages import drawn_size, message

FOLDER_FILES = 40


def path_of(file: int) -> str:
    """The path of a file in its folder."""
    return f"d{file // FOLDER_FILES:03d}/f{file:05d}"


def content(draw: random.Random, kind: str, number: int, size: int) -> bytes:
    """What a file holds: words, which can be packed, or bytes, which cannot."""
    return message(draw, number, size) if kind == "words" else draw.randbytes(size)


def write(folder: Path, count: int, sizes: tuple[float, float, int], kind: str, seed: int) -> None:
    """Write files.

    Args:
        folder: of all.
        count: of them.
        sizes: median in KiB, sigma and the largest in KiB, lognormal.
        kind: `words` or `bytes`.
        seed: of the draws.
    """
    draw = random.Random(seed)
    for number in range(count):
        path = folder / path_of(number)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content(draw, kind, number, drawn_size(draw, *sizes)))


class Files(Commands):
    """Operations on the files of $root/files, which are the recipe's items; values are as `write` has them."""

    def reads(self) -> None:
        """Read files."""
        for file in self.set():
            (self.root / "files" / path_of(file)).read_bytes()

    def changes(self) -> None:
        """Write files anew."""
        values = self.values
        for file in self.set():
            size = drawn_size(self.random, values["median_kib"], values["sigma"], values["max_kib"])
            (self.root / "files" / path_of(file)).write_bytes(content(self.random, values["content"], file, size))


if __name__ == "__main__":
    if len(sys.argv) > 2:
        target, files, *drawn, held, first = sys.argv[1:]
        median, spread, most = map(float, drawn)
        write(Path(target), int(files), (median, spread, int(most)), held, int(first))
    else:
        main(Files)
