"""Tries one input again and prints what is wrong with it.

.venv/bin/python -m tests.fuzz.replay TARGET FILE
"""

import argparse
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.fuzz.target import attempt, say, warm
from tests.fuzz.targets import TARGETS


def main() -> int:
    """Try an input; 1 where it breaks a property."""
    parser = argparse.ArgumentParser()
    parser.add_argument("target", choices=TARGETS)
    parser.add_argument("file", type=Path)
    given = parser.parse_args()
    target = TARGETS[given.target]
    with TemporaryDirectory() as folder:
        warm(target, Path(folder))
        finding = attempt(target, given.file.read_bytes(), Path(folder))
    say(f"{finding.key}\n{finding.said}" if finding else "nothing is wrong with it")
    return int(finding is not None)


if __name__ == "__main__":
    sys.exit(main())
