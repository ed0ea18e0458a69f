"""What the workload classifier says of a trace: which of the workloads that the zoo's models learned from it is like.

It names stretches of the trace, or does not know them. Whether a model is worth it that does not say: the learned cache
is run on the trace (`cachezoo.questions.page.learned`). What a model gained elsewhere is quoted as gained elsewhere.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from cachezoo import paths
from cachezoo.bundles.drift import drift
from cachezoo.bundles.protocol import MANIFEST
from cachezoo.bundles.reader import Bundle
from cachezoo.bundles.released import load
from cachezoo.errors import ConfigError
from cachezoo.serve.found import bundle_in, folders
from cachezoo.serving.requests import RequestBatch, batch_of
from cachezoo.traces.table import OP_READ, Trace

CLASSIFIER, PAGE_CACHE, ADMISSION = "workload", "reuse", "admission"
MOST_VOTES = 100
MOST_REQUESTS = 50_000
LIKE = 0.5
"""Share of the stretches that are known from which on a trace is like what the models learned from."""
UNKNOWN = "unknown"


@dataclass(frozen=True)
class Flash:
    """The admission model of the likeliest workload, for a flash cache."""

    bundle: str  # its folder
    id: str  # of the model
    drifted: int  # inputs that are distributed otherwise than in training; of `inputs`
    inputs: int  # of the model
    farthest: str  # the one farthest from training


@dataclass(frozen=True)
class Likeness:
    """What the zoo says of a trace."""

    folder: str  # where the bundles lie
    # Share of the stretches that the classifier calls by each name, the largest first; `unknown` among them. Empty
    # where there is no classifier, or the trace is shorter than a stretch.
    shares: Mapping[str, float]
    stretches: int  # how many were looked at
    stretch: int  # requests in one
    page_cache: str | None  # folder of the page cache's bundle; None where there is none
    # Mean lead on test streams over the way to run a classic that was best on each one's first half, in points of hit
    # ratio: later days of what it learned from, and programs that it never saw. None where its bundle does not say.
    home: float | None
    away: float | None
    flash: Flash | None  # of the likeliest workload; None where there is none, or it is unknown

    @property
    def known(self) -> float:
        """Share of the stretches that are like what was learned from."""
        return sum(share for name, share in self.shares.items() if name != UNKNOWN)

    @property
    def category(self) -> str | None:
        """The workload that most stretches are like; None where most are unknown, or there are none."""
        named = [name for name in self.shares if name != UNKNOWN]
        return named[0] if named and self.known >= LIKE else None

    def values(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "folder": self.folder,
            "stretches": self.stretches,
            "stretch_requests": self.stretch,
            "shares": dict(self.shares),
            "like": self.category,
            "page_cache": self.page_cache,
            "page_cache_home_lead_points": self.home,
            "page_cache_program_lead_points": self.away,
            "flash": vars(self.flash) if self.flash else None,
        }


def bundles_of(folder: Path) -> dict[str, list[Path]]:
    """Bundles of a folder by kind, by name: folders, and archives of a release."""
    names = {manifest.parent.name for manifest in folder.glob(f"*/{MANIFEST}")}
    names |= {archive.name.rpartition("-")[0] for archive in folder.glob("*.*-*.zip")}
    found: dict[str, list[Path]] = {}
    for name in sorted(names):
        if (own := bundle_in(folder, name)) is not None:
            found.setdefault(name.split(".")[0], []).append(own)
    return found


def _shares(bundle: Bundle, batch: RequestBatch) -> tuple[dict[str, float], int, int]:
    """Shares of the names of stretches evenly apart, how many these are, and the requests in one."""
    serving = bundle.serving()
    stretch = serving.window * serving.vote_windows
    most = min(MOST_VOTES, len(batch) // stretch)
    if not most:
        return {}, 0, stretch
    votes = []
    for first in np.linspace(0, len(batch) - stretch, most).astype(int).tolist():
        votes.append(int(serving.run(batch.part(first, first + stretch)).votes[-1]))
    names = [UNKNOWN if vote < 0 else serving.classes[vote] for vote in votes]
    counts = {name: names.count(name) for name in sorted(set(names), key=lambda name: (-names.count(name), name))}
    return {name: count / most for name, count in counts.items()}, most, stretch


def flash_of(paths: list[Path], category: str, batch: RequestBatch) -> Flash | None:
    """The admission model of a category that a cache below a file system can ask, else another of the category."""
    own = [path for path in paths if path.name.split(".")[1] == category]
    if not own or not (batch.op == OP_READ).any():
        return None
    chosen = min(own, key=lambda path: (batch.user is None) != path.name.endswith("_block"))
    bundle = load(chosen)
    if not bundle.manifest["measured"].get("inputs"):  # earlier releases did not state them
        return None
    found = drift(bundle, batch)
    drifted = sum(one.verdict == "drifted" for one in found.inputs)
    return Flash(str(chosen), bundle.id, drifted, len(found.inputs), found.inputs[0].name)


def likeness(folder: Path, trace: Trace) -> Likeness:
    """Ask the zoo.

    Args:
        folder: of bundles.
        trace: the requests; of a long one, parts are looked at.

    Raises:
        BundleError: a bundle is damaged.
    """
    found, batch = bundles_of(folder), batch_of(trace)
    shares, stretches, stretch = ({}, 0, 0) if CLASSIFIER not in found else _shares(load(found[CLASSIFIER][0]), batch)
    caches = found.get(PAGE_CACHE)
    test = load(caches[0]).manifest["measured"].get("evaluated", {}).get("test", {}) if caches else {}
    given = Likeness(
        str(folder), shares, stretches, stretch, str(caches[0]) if caches else None,
        test.get("home_lead_points"), test.get("program_lead_points"), None,
    )  # fmt: skip
    if given.category is None or ADMISSION not in found:
        return given
    start = batch.part(0, min(len(batch), MOST_REQUESTS))
    return replace(given, flash=flash_of(found[ADMISSION], given.category, start))


def page_caches(folder: Path) -> list[Path]:
    """The bundles of learned page caches in a folder."""
    return bundles_of(folder).get(PAGE_CACHE, [])


def bundles_folder(given: Path | None) -> Path | None:
    """Where the zoo's bundles lie: as given, here, or where `cachezoo serve` looks for them; None without any.

    Raises:
        ConfigError: the folder that was given is not there.
    """
    if given is not None:
        if not given.is_dir():
            raise ConfigError(f"{given}: no such folder; give the folder of the bundles, such as {paths.BUNDLES}")
        return given
    return next((folder for folder in (paths.BUNDLES, *map(Path, folders())) if bundles_of(folder)), None)
