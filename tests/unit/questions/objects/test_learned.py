"""The forest of Baleen's admission of objects: what it learns, what is too little, and its settings."""

from pathlib import Path

import numpy as np
import pytest
import yaml

from cachezoo.errors import TrainingError
from cachezoo.kernels.flash import DiskHead
from cachezoo.questions.objects import learned
from cachezoo.questions.objects.learned import fit_scores
from cachezoo.sized import baleen
from cachezoo.sized.baleen import Flash, Labels, decided, inputs
from cachezoo.sized.requests import Requests
from cachezoo.sized.simulate import simulate
from tests.sized_data import skewed

CONF = Path(__file__).parents[4] / "conf"


def labels_of(asked, capacity, share):
    def writes(decisions):
        return simulate(asked, decided(decisions), capacity).bytes_written

    budget = share * simulate(asked, "lru", capacity).bytes_written
    return Labels.of(asked, Flash(capacity, DiskHead(), False), budget, writes, 0.025)


def test_what_returns_is_learned_from_sizes_and_not_from_names():
    draw = np.random.default_rng(3)
    n = 6000
    hot = draw.random(n) < 0.5
    ids = np.where(hot, draw.integers(0, 300, n), 300 + np.arange(n))
    size = np.where(hot, 1000, 5000)
    _, ids = np.unique(ids, return_inverse=True)
    asked = Requests.of_sizes(ids.astype(np.int32), size)
    part = asked.first(4000)
    found = labels_of(part, 200_000, 0.2)
    none = np.full(n, -1, np.float32)
    rows, names = inputs(asked, [none, none], found.age)
    first, second = fit_scores(rows, names, asked.ids, found, [1, 1])
    assert (first == second).all()
    late = np.arange(n) >= 4000
    assert first[late & hot].min() > first[late & ~hot].max()


def test_too_little_is_not_learned_from():
    asked = skewed(300, 50)
    found = labels_of(asked, 10_000, 0.2)
    with pytest.raises(TrainingError, match="too few"):
        fit_scores(np.zeros((300, 2), np.float32), ["a", "b"], asked.ids, found, [1])


def test_settings_are_those_of_the_admission_of_blocks():
    def read(name):
        return yaml.safe_load((CONF / name).read_text(encoding="utf-8"))

    shape, fit, label = read("model/admission/lgbm.yaml"), read("fit/admission.yaml"), read("label/episodes.yaml")
    history = read("features/history.yaml")
    assert {name: shape[name] for name in learned.SHAPE} == learned.SHAPE
    assert (history["bucket_of_age"], tuple(history["windows"])) == (baleen.BUCKET_OF_AGE, baleen.WINDOWS)
    own = (learned.FIRST_ACCESSES, learned.HOLDOUT_EVERY, learned.EARLY_STOPPING, learned.THREADS, baleen.HORIZON)
    keys = ("holdout_every", "early_stopping", "threads")
    assert own == (label["first_accesses"], *(fit[key] for key in keys), label["horizon_fraction"])
