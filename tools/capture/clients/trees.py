"""What clients share that work on trees of files: which file, what is in it, and whose turn it is."""

import fcntl
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from tools.capture.clients.common import Client, zipf_rank
from tools.capture.clients.messages import drawn_size

FILE_THETA = 0.8
SPREAD = 7919


def call(command: Sequence[str], env: Mapping[str, str] | None = None, accepted: tuple[int, ...] = (0,)) -> None:
    """Run a program to its end, without what it writes.

    Args:
        command: program and arguments.
        env: its environment; this process's without.
        accepted: exit statuses that are no failure.

    Raises:
        CalledProcessError: its status is another.
    """
    done = subprocess.run(command, env=env, stdout=subprocess.DEVNULL, check=False)
    if done.returncode not in accepted:
        raise subprocess.CalledProcessError(done.returncode, command)


class TreeClient(Client):
    """Operations on trees, each of which one client has at a time; trees are drawn by their popularity."""

    @contextmanager
    def tree(self) -> Iterator[Path]:
        """A tree for this client alone."""
        number = self.item(self.plan["trees"])
        with (Path(self.plan["locks"]) / f"tree-{number}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield Path(self.plan["root"]) / f"t{number:03d}"

    def files(self) -> list[int]:
        """The files of one change, some of which change often; those move with the phase's hot set."""
        count = self.plan["files"]
        shift = int(self.plan["move"] * count)
        ranks = [zipf_rank(self.random.random(), count, FILE_THETA) for _ in range(self.plan["batch"])]
        return sorted({(shift + rank) * SPREAD % count for rank in ranks})

    def size(self) -> int:
        """Bytes of a changed file."""
        return drawn_size(self.random, self.plan["kib"], self.plan["sigma"], self.plan["max_kib"])

    @property
    def scratch(self) -> Path:
        """A folder of the client's own for what is thrown away again."""
        return Path(self.plan["scratch"]) / f"c{self.plan['client']}"
