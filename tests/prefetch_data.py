"""Seeded requests whose episodes have ranges that a model can learn, cannot learn, or need not."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from cachezoo.coded import Coded
from cachezoo.labels.episode_file import write_episode_labels
from cachezoo.labels.episode_rows import read_episode_labels
from cachezoo.models.forest import forest_scorer, joined
from cachezoo.models.trained import TrainedModel, trace_uses
from cachezoo.traces.table import Trace, TraceMeta
from cachezoo.training.episodes import Prepared
from cachezoo.zoo.admission.model import MODEL_FILE as ADMISSION_FILE
from cachezoo.zoo.prefetch import fit, judge
from cachezoo.zoo.prefetch.model import MODEL_FILES
from cachezoo.zoo.prefetch.settings import Fit, Judge, Model
from tests import baleen_data
from tests.baleen_data import FLASH, LABEL
from tests.trained_data import MadeForests

FIT = fit.Settings(
    label=LABEL,
    model=Model(**baleen_data.FIT.model.model_dump(exclude={"small"})),
    fit=Fit(
        folds=3, quantile=0.5, holdout_every=5, early_stopping=10, epsilon_s=0.005, min_episodes=50, threads=2,
    ),
    seek_ms=FLASH.seek_ms,
    rate_mib_s=FLASH.rate_mib_s,
    admission="lgbm",
    roles={},
    seed=7,
)  # fmt: skip
JUDGE = judge.Settings(
    label=LABEL, flash=FLASH, judge=Judge(curve_points=9, least_gain=0.02), arch="lgbm", admission="lgbm", roles={}
)
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


def part(trace: Trace, key: str, folder: Path) -> Prepared:
    """A trace with its labels; the admission is to learn OPT's own episodes, of which the ranges are."""
    write_episode_labels(trace, LABEL, FLASH, folder / key)
    labels = read_episode_labels(folder / key)
    return Prepared(key, trace, replace(labels, worth=labels.opt.astype(np.float32)))


def fit_and_judge(
    admitting: MadeForests, parts: list[Prepared], validation: list[Prepared], fitting: fit.Settings = FIT,
    judging: judge.Settings = JUDGE,
) -> MadeForests:  # fmt: skip
    """A prefetch model of the parts beside an admission model of them, judged as the stages judge it."""
    fitted, forests = fit.fit_prepared("database", admitting.fitted, parts, fitting, {})
    infer = joined([forest_scorer(forests[name].text, 2) for name in MODEL_FILES]) if forests else None
    admits = forest_scorer(admitting.forests[ADMISSION_FILE].text, 2)
    verdict = judge.judge(fitted, infer, admits, validation or parts, bool(validation), judging)
    trained = TrainedModel.of(fitted, verdict, {}, trace_uses([], validation))
    return MadeForests(fitted, forests, trained)


def write_both(
    folder: Path, parts: list[Prepared], validation: list[Prepared], fitting: fit.Settings = FIT
) -> TrainedModel:
    """The admission model of the parts in folder/admission, and the prefetch model beside it in folder/model."""
    admitting = baleen_data.fit_and_judge(parts, validation)
    admitting.write(folder / "admission")
    return fit_and_judge(admitting, parts, validation, fitting).write(folder / "model")
