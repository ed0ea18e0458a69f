"""How far a trace has moved from what an LSTM or a virtual cache learned from, which export measured."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from typer.testing import CliRunner

from cachezoo import paths
from cachezoo.bundles import load
from cachezoo.bundles.drift import drift
from cachezoo.bundles.watched import learned, watched, watched_features
from cachezoo.bundles.writer import write_bundle
from cachezoo.cli import app
from cachezoo.errors import BundleError
from cachezoo.models.trained import read_trained
from cachezoo.serving.requests import batch_of, join
from cachezoo.traces.store import write_trace
from cachezoo.zoo.caching.serve import CachingServing
from tests import virtual_data
from tests.baleen_data import make_trace
from tests.bundle_data import EXPORT, metrics
from tests.lstm_data import CLASSES, make_stream, write_caching


def near(trace):
    """A trace of a few pages, so that some come again."""
    return replace(trace, offset=trace.offset % (1 << 22))


@pytest.fixture
def exported(trained_of, tmp_path, monkeypatch):
    """A kind's bundle, with the inputs of train traces in its manifest, and those traces by category."""

    def export(kind):
        monkeypatch.chdir(tmp_path)
        folder, requests = trained_of(kind)
        traces = {"database": near(make_trace(1_500, 4))} if kind == "caching" else {}
        traces |= {name: make_stream(1_500, k, name) for k, name in enumerate(CLASSES)} if kind == "workload" else {}
        for category, trace in traces.items():
            write_trace(trace, paths.requests(category, "own"))
        params = SimpleNamespace(data=SimpleNamespace(roles={name: {"train": ["own"]} for name in traces}))
        trained = read_trained(folder)
        out = tmp_path / trained.model_id
        found = replace(metrics(trained.model_id), inputs=learned(params, trained))
        write_bundle(folder, requests, found, EXPORT, out)
        return load(out), {name: batch_of(trace) for name, trace in traces.items()}

    return export


def test_training_has_no_distance_from_itself_and_larger_requests_have(exported):
    bundle, traces = exported("caching")
    batch = traces["database"]
    same = drift(bundle, batch)
    assert same.requests == len(batch) and same.reads == 0 and same.admitted is same.placed is same.like is None
    assert {one.name for one in same.inputs} == {entry["name"] for entry in bundle.manifest["features"]} - {"ratio"}
    assert max(one.distance for one in same.inputs) <= 1e-12 and max(one.outside for one in same.inputs) == 0
    larger = {one.name: one for one in drift(bundle, replace(batch, size=batch.size * 64)).inputs}
    assert larger["size"].verdict == "drifted" and larger["size"].outside > 0
    assert larger["op"].distance <= 1e-12


def test_a_longer_trace_of_the_same_program_is_no_drift(exported):
    bundle, _ = exported("caching")
    longer = {one.name: one for one in drift(bundle, batch_of(near(make_trace(1_800, 4)))).inputs}
    assert max(longer[name].distance for name in ("age", "past_gap", "region_age")) < 0.25


def test_inputs_are_those_that_the_model_is_served_but_for_its_own_tags_and_ranges(tmp_path):
    trace = near(make_trace(800, 2))
    model = write_caching(trace, tmp_path / "model", fed_back=True).model_dump(mode="json")
    names = [feature.name for feature in watched_features(model)]
    every = [entry["name"] for entry in model["features"][:-4]]
    kept = [place for place, name in enumerate(every) if name != "ratio"]
    assert names == [every[place] for place in kept] and len(names) == len(every) - 1
    batch = batch_of(trace)
    keys = ("features", "policy", "calibration", "geometry")
    serving = CachingServing(**{key: model[key] for key in keys}, infer=lambda rows, state: (rows, state))
    capacity = model["policy"]["memory"]["window_accesses"]
    assert np.array_equal(watched(model, batch), serving.inputs(batch, batch.pages(), [capacity])[:, 0][:, kept])
    model["policy"]["ranges"] = {names[0]: [0.0, 1e-9]}
    assert np.array_equal(watched(model, batch), serving.inputs(batch, batch.pages(), [capacity])[:, 0][:, kept])


def test_a_classifier_is_held_against_the_category_that_a_trace_is_most_like(exported):
    bundle, traces = exported("workload")
    for name, batch in traces.items():
        found = drift(bundle, batch)
        assert found.like == name and max(one.distance for one in found.inputs) <= 1e-12
        assert found.requests == len(batch) // 12 * 12
    pairs = traces["pairs"]
    larger = drift(bundle, replace(pairs, size=pairs.size * 64, op=np.ones_like(pairs.op)))
    assert larger.inputs[0].verdict == "drifted" and {one.name for one in larger.inputs} >= {"size", "op"}
    with pytest.raises(BundleError, match=r"no whole window of 12 requests"):
        drift(bundle, pairs.part(0, 11))


def test_a_virtual_cache_is_held_against_the_profile_of_its_queue(bundle_dirs):
    bundle = load(bundle_dirs["virtual"])
    serving, batch = bundle.serving(), virtual_data.requests(3_000)
    found = drift(bundle, batch)
    pages = batch.pages()
    # By hand: the queue is longer than the trace has pages, so a page is absent once.
    absent = len(set(pages.page_ids.tolist())) / len(pages.page_ids)
    assert pages.n_pages < serving.pages and found.requests == len(batch) and len(found.inputs) == 1
    assert found.inputs[0].outside == pytest.approx(absent)
    assert found.inputs[0].outside_before == pytest.approx(max(0, 1 - serving.profile.sum()))
    once = replace(batch, offset=np.arange(len(batch)) * (1 << 20))
    gone = drift(bundle, once).inputs[0]
    assert gone.outside == 1.0 and gone.verdict == "drifted"
    assert gone.distance == pytest.approx(min(1, serving.profile.sum()), abs=1e-9)


def test_a_bundle_of_before_is_refused(bundle_dirs):
    for kind in ("caching", "workload"):
        with pytest.raises(BundleError, match="states no distribution of its inputs; give a bundle of this release"):
            drift(load(bundle_dirs[kind]), virtual_data.requests(100))


@pytest.mark.parametrize("kind, category", [("caching", "database"), ("workload", "pairs")])
def test_the_command_line_says_what_was_looked_at_and_what_to_train_again(
    exported, tmp_path, monkeypatch, kind, category
):
    bundle, traces = exported(kind)
    batch = traces[category]
    monkeypatch.setattr("cachezoo.bundles.released.load", lambda _: bundle)
    monkeypatch.setattr("cachezoo.traces.read.read_any", lambda *_, **__: None)
    monkeypatch.setattr("cachezoo.serving.requests.batch_of", lambda _: replace(batch, size=batch.size * 4096))
    done = CliRunner().invoke(app, ["models", "bundle", "drift", str(bundle.where), "log.parquet"])
    assert done.exit_code == 0 and "requests" in done.stdout
    assert done.stdout.splitlines()[-1].endswith(f'make retrain TRACES="log.parquet" CATEGORY={category}')
    assert ("most like" in done.stdout) == (kind == "workload")


def test_two_programs_one_after_the_other_are_still_held_against_one(exported):
    bundle, traces = exported("workload")
    assert drift(bundle, join(list(traces.values()))).like in CLASSES
