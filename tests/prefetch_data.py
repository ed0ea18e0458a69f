"""Seeded requests whose episodes have ranges that a model can learn, cannot learn, or need not."""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from cachezoo.config.baleen import PrefetchModel, PrefetchTrain
from cachezoo.labels.episode_file import read_episode_labels, write_episode_labels
from cachezoo.models.admission import load_admission
from cachezoo.models.forest import Forest
from cachezoo.models.trained import TrainedModel
from cachezoo.traces.table import Coded, Trace, TraceMeta
from cachezoo.training import admission, prefetch
from cachezoo.training.episode_rows import Part
from tests.baleen_data import FLASH, LABEL
from tests.baleen_data import SETTINGS as ADMISSION

SHAPE = ADMISSION.model.model_dump()
SETTINGS = prefetch.Settings(
    label=LABEL,
    model=PrefetchModel(**SHAPE),
    train=PrefetchTrain(
        folds=3, quantile=0.5, holdout_every=5, early_stopping=10, epsilon_s=0.005, min_episodes=50, threads=2,
        curve_points=9,
    ),
    flash=FLASH,
    seed=7,
)  # fmt: skip
BLOCK, SEGMENT, PER_BLOCK = 262144, 4096, 64
USERS = ("point", "group", "scan")
ACTIVE = 40
Script = Callable[[np.random.Generator, int], list[tuple[int, int]]]


def by_user(rng: np.random.Generator, user: int) -> list[tuple[int, int]]:
    """Learnable: `point` reads one segment three times, `group` sixteen from its multiple of sixteen on, twice."""
    if user == 0:
        return [(int(rng.integers(PER_BLOCK)), 1)] * 3
    if user == 1:
        first = 16 * int(rng.integers(4))
        return [(first + at, 4) for at in (0, 4, 8, 12)] * 2
    return [(int(rng.integers(PER_BLOCK)), 1)]


def at_random(rng: np.random.Generator, user: int) -> list[tuple[int, int]]:
    """Not learnable: one user, two segments anywhere in the block, three times."""
    return [(int(at), 1) for at in rng.integers(0, PER_BLOCK, 2)] * 3


def points(rng: np.random.Generator, user: int) -> list[tuple[int, int]]:
    """Nothing to prefetch: one segment a block, read one to four times."""
    return [(int(rng.integers(PER_BLOCK)), 1)] * int(rng.integers(1, 5))


def make_trace(n: int, seed: int, script: Script = by_user, name: str = "t") -> Trace:
    """Reads of many blocks at a time, each following a script from its first read on; a tenth writes elsewhere."""
    rng = np.random.default_rng(seed)
    block, segment, size, user = (np.zeros(n, np.int64) for _ in range(4))
    active: list[tuple[int, int, list[tuple[int, int]]]] = []
    fresh = 0
    for i in range(n):
        if len(active) < ACTIVE:
            who = int(rng.choice(3, p=[0.4, 0.3, 0.3]))
            active.append((fresh, who, script(rng, who)))
            fresh += 1
        at = int(rng.integers(len(active)))
        block[i], user[i], rest = active[at]
        segment[i], size[i] = rest.pop(0)
        if not rest:
            active.pop(at)
    write = rng.random(n) < 0.1
    return Trace(
        time_us=np.cumsum(rng.integers(1, 4000, n)),
        op=write.astype(np.uint8),
        offset=np.where(write, block + fresh, block) * BLOCK + segment * SEGMENT,
        size=size * SEGMENT,
        volume=Coded(np.zeros(n, np.int32), ("vda",)),
        user=Coded(user.astype(np.int32), USERS),
        meta=TraceMeta(name, "database", "test", "0" * 64, "CC0"),
    )


def part(trace: Trace, key: str, folder: Path) -> Part:
    """A trace with its labels."""
    write_episode_labels(trace, LABEL, FLASH, folder / key)
    return Part(key, trace, read_episode_labels(folder / key))


def train_both(
    folder: Path, parts: list[Part], validation: list[Part], settings: prefetch.Settings = SETTINGS
) -> tuple[TrainedModel, dict[str, Forest]]:
    """The admission model of the parts in folder/admission, and what trains beside it."""
    admission.write_trained(*admission.fit("database", parts, validation, ADMISSION), folder / "admission")
    return prefetch.fit("database", load_admission(folder / "admission"), parts, validation, settings)
