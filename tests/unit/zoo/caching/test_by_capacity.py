from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from cachezoo.contest.blocks import halves
from cachezoo.contest.counting import first_access
from cachezoo.kernels.manager_limits import Cache
from cachezoo.serving.requests import batch_of
from cachezoo.traces.pages import capacity_pages
from cachezoo.zoo.caching.fit import FitTrace
from cachezoo.zoo.caching.infer import serving_of
from cachezoo.zoo.caching.judge import choose
from tests.rcrnn_data import FIT, JUDGE, MadeCaching, fit_and_judge, make_part, make_trace


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> list[FitTrace]:
    folder = tmp_path_factory.mktemp("parts")
    return [make_part(make_trace(6000, 1, "train"), folder), make_part(make_trace(4000, 2, "validation"), folder)]


@pytest.fixture(scope="module")
def made(parts: list[FitTrace]) -> MadeCaching:
    return fit_and_judge(parts[:1], parts[1:], replace(FIT, fit=FIT.fit.model_copy(update={"max_epochs": 3})))


def test_each_size_gets_what_hits_most_there_or_keeps_what_was_judged(made: MadeCaching, parts: list[FitTrace]) -> None:
    chosen, part = made.trained.calibration, parts[1].part
    entries = chosen["by_capacity"]
    assert [row["capacity"] for row in entries] == JUDGE.judge.capacities
    ratios = [row["ratio_log2"] for row in entries]
    np.testing.assert_allclose(np.diff(ratios), 1.0, atol=0.05)
    judged = entries[JUDGE.judge.capacities.index(JUDGE.manager.capacity)]
    assert (judged["threshold"], judged["queues"]) == (chosen["threshold"], made.trained.policy["queues"])
    serving, warmup = serving_of(made.trained, made.kept), first_access(part.pages)
    for row in entries:
        own = Cache(capacity_pages(row["capacity"], part.pages.n_pages), row["threshold"], "stay", row["queues"])
        others = [replace(own, threshold=one["threshold"], queues=one["queues"]) for one in entries]
        served = serving.run(batch_of(part.trace), part.pages, [own, *others])
        ratio = [float(halves(served.hits(lane)[warmup:])[0].mean()) for lane in range(len(others) + 1)]
        assert ratio[0] == pytest.approx(row["hit_ratio"])
        assert ratio[0] >= max(ratio) - 0.01
        if (row["threshold"], row["queues"]) != (judged["threshold"], judged["queues"]):
            assert ratio[0] >= ratio[1 + entries.index(judged)] + JUDGE.judge.least_gain - 1e-9
        assert served.totals[0]["ssd_writes"] == row["ssd_writes"]


def test_a_trace_whose_sizes_cannot_be_told_apart_has_one_threshold(parts: list[FitTrace], made: MadeCaching) -> None:
    alone = JUDGE.judge.model_copy(update={"capacities": [JUDGE.manager.capacity]})
    found = choose(made.fitted, made.weights[:1], [parts[1].part], True, replace(JUDGE, judge=alone))
    assert found.by_capacity == []


def test_a_size_changes_its_rules_only_for_a_gain_that_matters(parts: list[FitTrace], made: MadeCaching) -> None:
    def entries(least_gain: float) -> list[dict[str, Any]]:
        options = JUDGE.judge.model_copy(update={"least_gain": least_gain})
        return choose(made.fitted, made.weights[:1], [parts[1].part], True, replace(JUDGE, judge=options)).by_capacity

    kept, free = entries(1.0), entries(0.0)
    assert len({(row["threshold"], row["queues"]) for row in kept}) == 1
    assert all(new["hit_ratio"] >= old["hit_ratio"] for new, old in zip(free, kept, strict=True))
    assert [row["capacity"] for row in kept] == [row["capacity"] for row in free] == JUDGE.judge.capacities
