"""About how long a run of the pipeline has to go, from what its stages took before on this machine.

What stages took lies in `.cache`, in no output: it is of this machine. DVC does not say which stages will run, so the
time to go is that of all that have not run yet in this run, and therefore an upper limit.
"""

import contextlib
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from cachezoo import paths
from cachezoo.errors import CachezooError
from cachezoo.io import atomic_file

FILE = Path(".cache/to_go.json")
SOON_S = 90.0  # below it in seconds, else in minutes


@dataclass
class ToGo:
    """What stages took, and which of them this run has had."""

    run: str = ""  # what tells this run of the pipeline from others
    # of each stage that ever ran here, when it ran all of its jobs
    seconds: dict[str, float] = field(default_factory=dict)
    ended: list[str] = field(default_factory=list)  # stages that this run has had

    @classmethod
    def read(cls, run: str) -> "ToGo":
        """Of the file; stages that ended count for the same run alone. A file that cannot be read counts as none."""
        try:
            found = cls(**json.loads(FILE.read_text(encoding="utf-8")))
            found.seconds = {str(stage): float(seconds) for stage, seconds in found.seconds.items()}
        except (OSError, ValueError, TypeError, AttributeError):
            found = cls()
        return found if found.run == run else cls(run, found.seconds)

    def said(self, stage: str) -> str:
        """What to say as a stage begins; nothing where it never ran here."""
        own = self.seconds.get(stage)
        if own is None:
            return ""
        known = {path.stem for path in paths.SOURCES.glob("*.json")}
        left = [name for name in self.seconds if name not in self.ended and name in known]
        rest = sum(self.seconds[name] for name in left)
        return f"about {in_words(own)}, the whole pipeline at most {in_words(rest)} to go"

    def save(self) -> None:
        """Write the file, where there is room; a stage that has done its work does not fail for want of an estimate."""
        with contextlib.suppress(CachezooError, OSError):
            FILE.parent.mkdir(parents=True, exist_ok=True)
            with atomic_file(FILE) as temporary:
                temporary.write_text(json.dumps(vars(self), sort_keys=True, indent=0), encoding="utf-8")


def in_words(seconds: float) -> str:
    """A time to go, in words."""
    return f"{seconds:.0f} s" if seconds < SOON_S else f"{seconds / 60:.0f} min"


@contextmanager
def timed(stage: str, run: str) -> Iterator[str]:
    """Yield what to say as the stage begins; when it has ended, remember how long it took.

    Args:
        stage: the stage.
        run: what tells this run of the pipeline from others.
    """
    known, start = ToGo.read(run), time.monotonic()
    yield known.said(stage)
    known.seconds[stage] = round(max(time.monotonic() - start, known.seconds.get(stage, 0.0) / 2), 1)
    known.ended.append(stage)
    known.save()
