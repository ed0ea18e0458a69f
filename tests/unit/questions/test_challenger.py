"""A challenger against a champion."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from cachezoo.bundles import load
from cachezoo.config.load import load_params
from cachezoo.contest.counting import first_access
from cachezoo.errors import ConfigError
from cachezoo.questions import challenger as rooms
from cachezoo.questions.challenger import Contest, accepted, contest, decision_us, flash_gains, page_gains, role_of
from cachezoo.questions.page.bundle import simulate_bundle
from cachezoo.traces.pages import capacity_pages, expand_pages
from tests.baleen_data import make_trace

ROOT = Path(__file__).parents[3]
GOLDEN = Path(__file__).parents[2] / "golden/protocol2"
FOUND = Contest("page", "hits per page access", ("web_validation",), 0.02, (0.01, 0.03), 5.0)


def test_the_lower_end_of_the_interval_decides():
    assert accepted(FOUND, 0.0, None)[0]
    assert not accepted(FOUND, 0.01, None)[0]
    assert not accepted(replace(FOUND, interval=(0.0, 0.04)), 0.0, None)[0]


def test_a_decision_beyond_the_budget_is_refused_whatever_it_gains():
    good, why = accepted(FOUND, 0.0, 4.0)
    assert not good and why == "a decision takes 5.0 us, more than 4"
    assert accepted(FOUND, 0.0, 5.0)[0]


def test_roles_are_of_kind_and_category():
    assert role_of(load(GOLDEN / "admission.database.lgbm")) == "flash/database"
    assert role_of(load(GOLDEN / "reuse.follow")) == "page/all"
    with pytest.raises(ConfigError, match="a workload bundle does not run alone"):
        role_of(load(GOLDEN / "workload.lstm8"))


def test_bundles_of_two_roles_are_not_compared():
    with pytest.raises(ConfigError, match=r"runs as flash/database, .* as page/all"):
        contest(None, load(GOLDEN / "admission.database.lgbm"), load(GOLDEN / "reuse.follow"))


def test_the_lead_is_the_mean_of_paired_blocks(monkeypatch):
    params = load_params(ROOT / "params.yaml")
    rng = np.random.default_rng(5)
    shared = {name: rng.random(2000) for name in params.data.page_categories}
    more = dict(zip(params.data.page_categories, (0.1, 0.2, 0.3, 0.4), strict=True))
    ours, theirs = load(GOLDEN / "reuse.follow"), load(GOLDEN / "reuse.follow")

    def gains(bundle, category, fraction):
        return shared[category] + (more[category] if bundle is ours else 0.0)

    monkeypatch.setattr(rooms, "read_trace", lambda path: path.parent.name)
    monkeypatch.setattr(rooms, "page_gains", gains)
    monkeypatch.setattr(rooms, "decision_us", lambda bundle, trace: 1.0)
    found = contest(params, ours, theirs)
    assert found.lead == pytest.approx(0.25) and found.interval == pytest.approx((0.25, 0.25))
    assert found.role == "page" and len(found.traces) == 4


def test_a_category_s_own_model_is_held_against_that_of_all_on_its_category_alone(monkeypatch):
    params = load_params(ROOT / "params.yaml")
    ours, theirs = load(GOLDEN / "caching.database.lstm1x8"), load(GOLDEN / "reuse.follow")
    asked = []

    def gains(bundle, trace, fraction):
        asked.append((trace, fraction))
        return np.full(2000, 0.3 if bundle is ours else 0.1)

    monkeypatch.setattr(rooms, "read_trace", lambda path: path.parent.name)
    monkeypatch.setattr(rooms, "page_gains", gains)
    monkeypatch.setattr(rooms, "decision_us", lambda bundle, trace: 1.0)
    found = contest(params, ours, theirs)
    assert found.lead == pytest.approx(0.2)
    assert set(asked) == {("database", ours.manifest["calibration"]["capacity"])}
    with pytest.raises(ConfigError, match=r"runs as page/all, .* as page/database"):
        contest(params, theirs, ours)


def test_gains_are_page_hits_after_the_warm_up():
    trace = make_trace(3000, 1)
    bundle = load(GOLDEN / "reuse.follow")
    gains = page_gains(bundle, trace, 0.1)
    pages = expand_pages(trace)
    capacity = capacity_pages(0.1, pages.n_pages)
    warmup = first_access(pages)
    found = simulate_bundle(GOLDEN / "reuse.follow", trace, pages, capacity, warmup)
    assert len(gains) == len(pages.page_ids) - warmup and gains.sum() == found.hits


def test_a_flash_cache_gains_what_its_disks_are_not_busy_for():
    params, bundle = load_params(ROOT / "params.yaml"), load(GOLDEN / "admission.database.lgbm")
    gains = flash_gains(params, bundle, make_trace(3000, 1), "database")
    assert (gains <= 0).all() and (gains < 0).any()
    bundle.manifest["calibration"]["with_prefetch"] = {"threshold": 1e9, "mode": "none"}
    nothing = flash_gains(params, bundle, make_trace(3000, 1), "database")
    assert nothing.sum() < gains.sum()


def test_a_decision_takes_some_time():
    assert decision_us(load(GOLDEN / "admission.database.lgbm"), make_trace(200, 1)) > 0
