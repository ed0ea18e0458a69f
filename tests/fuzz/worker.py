"""One target in a process of its own, until its time is up: coverage-guided by Atheris where it is installed.

    python -m tests.fuzz.worker TARGET --folder FOLDER --until TIME --seed 0

The folder gets `current` (the input under way, for the case that the process does not survive it), `status.json`,
`findings/` and `corpus/`, the inputs that reached new code; `scratch/` is what inputs are written to. What is already
there is gone on from.
"""

import argparse
import importlib
import json
import pkgutil
import sys
import time
from pathlib import Path
from random import Random

try:
    import atheris
except ImportError:  # no wheel for this machine: the mutators go on without coverage
    atheris = None

MOST_BYTES = 1 << 18
STATUS_INTERVAL_S = 1.0
FROM_CORPUS = 0.5
LEAST_S = 1.0


def import_readers() -> None:
    """Import all that targets reach, also what is imported only when it is asked for."""
    importlib.import_module("tests.fuzz.targets")
    registry = importlib.import_module("cachezoo.zoo.registry")
    for kind in (*registry.SYSTEMS, *registry.UNTRAINED):
        registry.bundling_of(kind).kind.load()


if atheris is not None and __name__ == "__main__":
    # numba compiles kernels from their bytecode, which Atheris would change.
    kernels = importlib.import_module("cachezoo.kernels")
    for entry in pkgutil.walk_packages(kernels.__path__, "cachezoo.kernels."):
        importlib.import_module(entry.name)
    with atheris.instrument_imports(include=["cachezoo"]):
        import_readers()

from tests.fuzz.target import Finding, Target, attempt, warm  # noqa: E402 - the readers come in instrumented above
from tests.fuzz.targets import TARGETS  # noqa: E402


class Session:
    """Tries inputs, keeps what is found and how far it has come."""

    def __init__(self, target: Target, folder: Path) -> None:
        self.target, self.folder, self.scratch = target, folder, folder / "scratch"
        self.current, self.status = folder / "current", folder / "status.json"
        self.executions, self.begun, self.said = 0, time.monotonic(), 0.0
        for name in ("findings", "scratch"):
            (folder / name).mkdir(parents=True, exist_ok=True)

    def keep(self, finding: Finding) -> None:
        """Store a finding, unless a shorter input of it is known."""
        path = self.folder / "findings" / finding.name
        if path.exists() and path.stat().st_size <= len(finding.data):
            return
        path.write_bytes(finding.data)
        path.with_suffix(".json").write_text(json.dumps({"key": finding.key, "said": finding.said}))

    def one(self, data: bytes) -> None:
        """Try an input."""
        self.current.write_bytes(data)
        finding = attempt(self.target, data, self.scratch)
        if finding is not None:
            self.keep(finding)
        self.executions += 1
        if time.monotonic() - self.said >= STATUS_INTERVAL_S:
            self.say()

    def say(self) -> None:
        """Write how far it has come."""
        self.said = time.monotonic()
        self.status.write_text(json.dumps({"executions": self.executions, "seconds": self.said - self.begun}))


def unguided(session: Session, seconds: float, rng: Random) -> None:
    """Inputs made from the valid ones, without coverage."""
    seeds = session.target.seeds()
    for data in (*seeds, *session.target.others()):
        session.one(data)
    while time.monotonic() - session.begun < seconds:
        session.one(session.target.mutate(rng.choice(seeds), rng))
    session.say()


def guided(session: Session, seconds: float, seed: int) -> None:
    """Inputs made from those that reached new code; does not return."""
    corpus = session.folder / "corpus"
    corpus.mkdir(exist_ok=True)
    seeds = session.target.seeds()
    for index, data in enumerate((*seeds, *session.target.others())):
        (corpus / f"seed{index}").write_bytes(data)

    def mutate(data: bytes, most: int, given: int) -> bytes:
        rng = Random(given)
        source = data if rng.random() < FROM_CORPUS else rng.choice(seeds)
        return session.target.mutate(source, rng)[:most]

    options = {
        "max_total_time": max(1, round(seconds)),
        "max_len": MOST_BYTES,
        "len_control": 0,
        "seed": seed + 1,
        "print_final_stats": 1,
        # Time, memory and signals are ours to watch.
        **dict.fromkeys(("timeout", "rss_limit_mb", "handle_alrm", "handle_int", "handle_term"), 0),
    }
    arguments = [sys.argv[0], *(f"-{name}={value}" for name, value in options.items()), str(corpus)]
    atheris.Setup(arguments, session.one, custom_mutator=mutate)
    atheris.Fuzz()


def main() -> int:
    """Run a target; its findings are files, and no reason for another exit status than 0."""
    parser = argparse.ArgumentParser()
    parser.add_argument("target", choices=TARGETS)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--until", type=float, required=True, help="on the machine's monotonic clock")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    session = Session(TARGETS[given.target], given.folder)
    warm(session.target, session.scratch)
    seconds = max(LEAST_S, given.until - time.monotonic())
    if atheris is None:
        unguided(session, seconds, Random(given.seed))
    else:
        guided(session, seconds, given.seed)
    return 0


if __name__ == "__main__":
    sys.exit(main())
