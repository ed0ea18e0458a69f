"""What a fuzz target is, how an input is tried, and what makes two findings the same."""

import hashlib
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random

from tests.fuzz.limits import limited

PACKAGE = "cachezoo"


class Broken(Exception):
    """A property that every input must keep is broken; the first word names it."""


@dataclass(frozen=True)
class Target:
    """A reader with the properties of it that every input must keep.

    Attributes:
        id: lower case; the name on the command line, and of the folder with its regressions.
        seeds: valid inputs.
        mutate: an input made from a valid one, by the choices of a generator.
        check: reads an input, with a folder of its own to write to; what it raises is a finding.
        others: inputs that are no valid ones, which a campaign tries as they are before it makes any.
    """

    id: str
    seeds: Callable[[], tuple[bytes, ...]]
    mutate: Callable[[bytes, Random], bytes]
    check: Callable[[bytes, Path], None]
    others: Callable[[], tuple[bytes, ...]] = tuple


@dataclass(frozen=True)
class Finding:
    """An input that breaks a property.

    Attributes:
        target: its id.
        data: the input.
        key: what the finding is: the exception's type, and the innermost place in cachezoo or the broken property.
        said: the exception with its traceback.
    """

    target: str
    data: bytes
    key: str
    said: str

    @property
    def name(self) -> str:
        """A name for the finding's files."""
        return hashlib.sha256(f"{self.target} {self.key}".encode()).hexdigest()[:12]


def place_of(error: BaseException) -> str:
    """`module.py:function` of the innermost frame in cachezoo; of a broken property its name; else the outermost."""
    if isinstance(error, Broken):
        return str(error).split(":")[0]
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if f"/{PACKAGE}/" in frame.filename]
    if not frames:
        return "outside cachezoo"
    path = Path(frames[-1].filename)
    parts = path.parts[len(path.parts) - path.parts[::-1].index(PACKAGE) :]
    return f"{'/'.join(parts)}:{frames[-1].name}"


def attempt(target: Target, data: bytes, folder: Path) -> Finding | None:
    """Try an input within the limits.

    Returns:
        What is wrong, or None.
    """
    try:
        with limited():
            target.check(data, folder)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - whatever comes out is the finding
        said = "".join(traceback.format_exception(error))
        return Finding(target.id, data, f"{type(error).__name__} in {place_of(error)}", said)
    return None


def inputs(target: Target, seed: int, count: int) -> "list[bytes]":
    """A fixed number of inputs that depend on the seed alone; the first ones are the valid ones."""
    rng = Random(f"{target.id} {seed}")
    seeds = target.seeds()
    return [*seeds, *(target.mutate(rng.choice(seeds), rng) for _ in range(count))]


def warm(target: Target, folder: Path) -> None:
    """Read the valid inputs without limits: kernels are compiled and modules imported once."""
    for data in target.seeds():
        target.check(data, folder)


def say(text: str) -> None:
    """A line on standard error."""
    sys.stderr.write(text + "\n")
