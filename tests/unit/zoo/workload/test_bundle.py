import json
import math
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from cachezoo.bundles import load, verify
from cachezoo.bundles.measured import Metrics
from cachezoo.bundles.writer import build_bundle, write_bundle
from cachezoo.errors import BundleError
from cachezoo.serving.requests import RequestBatch, batch_of, join
from cachezoo.zoo.workload.bundle import _certain_rows
from cachezoo.zoo.workload.infer import load_workload
from cachezoo.zoo.workload.serve import UNKNOWN, Monitored
from tests.bundle_data import EXPORT, metrics, reseal
from tests.lstm_data import make_stream

Trained = Callable[[str], tuple[Path, RequestBatch]]


@pytest.fixture
def folder(trained_of: Trained, tmp_path: Path) -> Path:
    return Path(shutil.copytree(trained_of("workload")[0], tmp_path / "trained"))


@pytest.fixture
def bundle_of_it(trained_of: Trained, tmp_path: Path) -> Path:
    folder, requests = trained_of("workload")
    write_bundle(folder, requests, metrics("workload.lstm8"), EXPORT, tmp_path / "bundle")
    return tmp_path / "bundle"


def test_bundle_votes_like_the_trained_network(folder: Path, bundle_of_it: Path) -> None:
    ours, theirs = load_workload(folder)[1], load(bundle_of_it).serving()
    both = join([batch_of(make_stream(700, seed, name)).part(0, 700) for seed, name in ((8, "turns"), (9, "pairs"))])
    one, two = ours.run(both), theirs.run(both)
    for name in ("features", "classes", "votes", "in_force"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))
    np.testing.assert_allclose(one.probabilities, two.probabilities, atol=1e-5)
    assert two.in_force[50] == 1 and two.in_force[-1] == 0 and theirs.classes == ("pairs", "turns")


def test_golden_rows_reach_a_switch(bundle_of_it: Path) -> None:
    bundle = load(bundle_of_it)
    golden, stated = bundle.golden(), bundle.manifest["golden"]
    assert stated["outputs"] == ["pairs", "turns"] and stated["decisions"] == ["class", "vote", "in_force"]
    assert golden.features.shape == (stated["rows"], 10)
    assert len(golden.outputs) == len(golden.decisions) == stated["rows"] // 12 == stated["branches"]["window"]
    assert stated["branches"]["switch"] >= 1 and stated["branches"]["vote"] == stated["rows"] // 36
    sure = golden.decisions[:, 0] != UNKNOWN
    np.testing.assert_array_equal(golden.outputs.argmax(axis=1)[sure], golden.decisions[sure, 0])
    assert stated["branches"]["unknown_window"] == (~sure).sum() > 0
    assert stated["branches"]["unknown_vote"] == (golden.decisions[:, 1] == UNKNOWN).sum()
    np.testing.assert_allclose(golden.outputs.sum(axis=1), 1, atol=1e-6)


def test_card_says_how_to_ask_and_names_the_baselines(folder: Path, trained_of: Trained) -> None:
    files, _ = build_bundle(folder, trained_of("workload")[1], metrics("workload.lstm8"), EXPORT)
    assert "seen = model.run(batch)" in files["card.md"].decode()
    path = folder / "train.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "beats_baseline": False}))
    files, _ = build_bundle(folder, trained_of("workload")[1], metrics("workload.lstm8"), EXPORT)
    said = "best baseline of `calibration.baselines`, named in `calibration.judged_against`, is the safer choice"
    assert said in files["card.md"].decode()


def test_classes_that_the_network_does_not_have_are_refused(bundle_of_it: Path) -> None:
    def change(manifest: dict[str, Any]) -> None:
        manifest["policy"]["classes"].append("mail")
        manifest["golden"]["outputs"].append("mail")

    reseal(bundle_of_it, change)
    with pytest.raises(BundleError, match=r"tensor 'category\.weight' is not float32 3x8"):
        verify(bundle_of_it)

    def back(manifest: dict[str, Any]) -> None:
        manifest["policy"]["classes"].pop()
        manifest["golden"]["outputs"].pop()

    reseal(bundle_of_it, back)
    reseal(bundle_of_it, lambda manifest: manifest["policy"].update(window=7))
    with pytest.raises(BundleError, match="bundle"):
        verify(bundle_of_it)
    reseal(bundle_of_it, lambda manifest: manifest["policy"].update(vote_windows=0))
    with pytest.raises(BundleError, match=r"policy\.vote_windows breaks minimum 1"):
        load(bundle_of_it)


@pytest.mark.parametrize("limits", [{"window": -1.0}, {"vote": "2"}, {"request": 1.0}])
def test_limits_that_are_none_are_refused(bundle_of_it: Path, limits: dict[str, Any]) -> None:
    reseal(bundle_of_it, lambda manifest: manifest["policy"].update(unknown_above=limits))
    with pytest.raises(BundleError, match=r"policy\.unknown_above"):
        load(bundle_of_it)


def test_a_bundle_without_limits_always_names_a_category(bundle_of_it: Path) -> None:
    def change(manifest: dict[str, Any]) -> None:
        del manifest["policy"]["unknown_above"], manifest["policy"]["unknown"], manifest["calibration"]["known"]

    both = join([batch_of(make_stream(700, seed, name)).part(0, 700) for seed, name in ((8, "turns"), (9, "pairs"))])
    with_limits = load(bundle_of_it).serving().run(both)
    reseal(bundle_of_it, change)
    seen = load(bundle_of_it).serving().run(both)
    assert (with_limits.classes == UNKNOWN).any() and not (seen.classes == UNKNOWN).any()
    np.testing.assert_array_equal(seen.classes, with_limits.likeliest)


def test_fewer_golden_requests_than_a_window(folder: Path) -> None:
    files, _ = build_bundle(folder, batch_of(make_stream(7, 3, "pairs")).part(0, 7), Metrics(), EXPORT)
    golden = json.loads(files["model.json"])["golden"]
    assert golden["rows"] == 7 and golden["branches"]["window"] == 0 and golden["branches"]["rest"] == 1


def monitored(probabilities: np.ndarray, strangeness: list[float]) -> Monitored:
    none = np.zeros(len(probabilities), np.int32)
    looked_at = np.arange(10 * len(probabilities))
    return Monitored(
        looked_at, np.zeros((0, 1), np.float32), probabilities, np.array(strangeness), none, none, none, none, 10
    )


def test_steady_by_hand() -> None:
    probabilities = np.array([[0.9, 0.05, 0.05], [0.5, 0.500009, 0.0], [0.2, 0.2, 0.6]], np.float32)
    never: Any = SimpleNamespace(window=10, vote_windows=2, unknown_above={"window": math.inf, "vote": math.inf})
    calm = [1.0, 1.0, 1.0]
    assert _certain_rows(never, monitored(probabilities, calm), 35) == 10
    assert _certain_rows(never, monitored(probabilities[[0, 2]], calm[:2]), 25) == 25
    assert _certain_rows(never, monitored(probabilities[:, :1], calm), 35) == 35
    assert _certain_rows(never, monitored(probabilities[:0], []), 5) == 5
    limits: Any = SimpleNamespace(window=10, vote_windows=2, unknown_above={"window": 3.0, "vote": 2.0})
    clear = probabilities[[0, 2, 0, 2]]
    assert _certain_rows(limits, monitored(clear, [1.0, 1.0, 3.0 + 1e-9, 0.5]), 45) == 20
    assert _certain_rows(limits, monitored(clear, [1.0, 1.0, 2.5, 1.5 - 1e-9]), 45) == 20
    assert _certain_rows(limits, monitored(clear, [1.0, 1.0, 2.9, 1.2]), 45) == 45
    every_third = replace(monitored(clear, [1.0, 1.0, 3.0 + 1e-9, 0.5]), looked_at=3 * np.arange(40))
    assert _certain_rows(limits, every_third, 130) == 60  # requests that votes pass over count
