"""The published models that conf/model/ can choose: composed, trained in small, exported, verified by Python and C."""

import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml

from cachezoo.bundles import load, verify
from cachezoo.bundles.measured import Metrics
from cachezoo.bundles.writer import write_bundle
from cachezoo.config.compose import compose
from cachezoo.config.load import validate_params
from cachezoo.errors import ConfigError
from cachezoo.serving.requests import batch_of, join
from cachezoo.settings.params import Params
from cachezoo.zoo.workload.infer import load_workload
from cachezoo.zoo.workload.windows import cut_windows
from tests import lstm_data, rcrnn_data
from tests.bundle_data import EXPORT
from tests.c_library import make
from tests.lstm_data import CLASSES, make_stream, parts

ROOT = Path(__file__).resolve().parents[3]
QUICK = {"max_epochs": 1, "seeds": 1}
TAGS = ["feedback.cached", "feedback.soon", "feedback.mean", "feedback.late"]


@pytest.fixture(scope="module")
def paper() -> Params:
    models = {"caching": "paper", "workload": "paper"}
    return validate_params(yaml.safe_load(compose(ROOT / "conf", models)), "conf")


@pytest.fixture(scope="session")
def cz(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory, "all") / "cz"


def verified(bundle: Path, cz: Path) -> None:
    assert verify(bundle)["ok"]
    done = subprocess.run([cz, "verify", bundle], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0 and done.stdout.endswith(", 1 of decisions equal\n"), done.stdout + done.stderr


def test_the_presets_are_the_paper_s(paper: Params) -> None:
    caching, fit, manager = paper.model.caching, paper.fit.caching, paper.policy.manager
    assert (caching.layers, caching.units, caching.sequence, fit.batch) == (3, 256, 100, 32)
    assert caching.inputs == ["address.page", "size.log2_bytes", "request.op"] and caching.feedback
    assert (fit.hit_target, paper.label.benefit.capacities, manager.capacity) == ("cached", [0.2], 0.2)
    assert (manager.on_hit, manager.queues, paper.label.benefit.oracle) == (["stay"], ["three"], "benefit")
    workload = paper.model.workload
    assert (workload.layers, workload.units, workload.window, paper.fit.workload.batch) == (1, 50, 100, 32)
    assert workload.inputs == ["time.log1p_gap", "address.page", "size.log2_bytes", "request.op"]


def test_a_preset_of_one_kind_leaves_the_others_as_they_are(paper: Params) -> None:
    plain = validate_params(yaml.safe_load(compose(ROOT / "conf")), "conf")
    alone = validate_params(yaml.safe_load(compose(ROOT / "conf", {"workload": "paper"})), "conf")
    assert alone.model.workload == paper.model.workload
    assert (alone.model.caching, alone.fit, alone.policy) == (plain.model.caching, plain.fit, plain.policy)


def test_the_paper_s_caching_model_is_exported(paper: Params, tmp_path: Path, cz: Path) -> None:
    label = paper.label.benefit
    fitting = replace(
        rcrnn_data.FIT,
        label=label,
        model=paper.model.caching.model_copy(update={"units": 4}),
        fit=paper.fit.caching.model_copy(update=QUICK),
        capacity=paper.policy.manager.capacity,
    )
    own = [rcrnn_data.make_part(rcrnn_data.make_trace(1500, seed, f"t{seed}"), tmp_path, fitting) for seed in (1, 2)]
    judging = replace(
        rcrnn_data.JUDGE,
        label=label,
        manager=paper.policy.manager,
        judge=paper.judge.caching.model_copy(update={"thresholds": 3, "capacities": [0.2]}),
        arch="paper",
    )
    made = rcrnn_data.fit_and_judge(own[:1], own[1:], fitting, judging)
    made = replace(made, trained=made.trained.model_copy(update={"beats_baseline": True}))
    made.trained.calibration["oracle_beats_classic"] = True
    model = made.write(tmp_path / "model")
    assert model.model_id == "caching.database.paper"
    assert [one.formula for one in model.features] == [*paper.model.caching.inputs, *TAGS]
    write_bundle(tmp_path / "model", batch_of(own[1].part.trace).part(0, 400), Metrics(), EXPORT, tmp_path / "bundle")
    verified(tmp_path / "bundle", cz)
    policy = load(tmp_path / "bundle").manifest["policy"]
    assert (policy["on_hit"], policy["queues"], policy["state"]) == ("stay", "three", "reset100")


def test_the_paper_s_classifier_sees_the_same_in_training_and_serving_and_is_exported(
    paper: Params, tmp_path: Path, cz: Path
) -> None:
    model = paper.model.workload.model_copy(update={"units": 6, "window": 12})
    fitting = replace(lstm_data.FIT, model=model)
    made = lstm_data.fit_and_judge(
        CLASSES, parts(2000, 1), parts(1000, 3), fitting, replace(lstm_data.JUDGE, arch="paper")
    )
    made.write(tmp_path / "model")
    trained, serving = load_workload(tmp_path / "model")
    assert trained.model_id == "workload.paper" and [one.formula for one in trained.features] == model.inputs
    address = trained.features[1]
    offsets = np.concatenate([one.trace.offset[: 12 + 5 * ((len(one.trace) - 12) // 5)] for one in parts(2000, 1)])
    assert (address.mean, address.mean + address.scale) == (offsets.min() / 4096, offsets.max() / 4096)
    (held,) = parts(1000, 9)[:1]
    want = cut_windows([held], CLASSES, 12, 12).inputs(trained.features, 6.0).rows
    np.testing.assert_array_equal(serving.inputs(batch_of(held.trace))[: want.shape[0] * 12], want.reshape(-1, 4))
    both = join([batch_of(make_stream(400, seed, name)) for seed, name in ((8, "turns"), (9, "pairs"))])
    write_bundle(tmp_path / "model", both, Metrics(), EXPORT, tmp_path / "bundle")
    verified(tmp_path / "bundle", cz)


@pytest.mark.parametrize(
    ("inputs", "match"),
    [
        (
            ["feedback.cached"],
            r"model\.caching\.inputs: feedback\.cached is no input of a request; choose among time\.",
        ),
        (["request.op", "request.op"], r"model\.caching\.inputs: request\.op is twice"),
    ],
)
def test_inputs_that_a_caching_model_has_not(inputs: list[str], match: str, tmp_path: Path) -> None:
    part = rcrnn_data.make_part(rcrnn_data.make_trace(600, 1), tmp_path)
    model = rcrnn_data.FIT.model.model_copy(update={"inputs": inputs})
    with pytest.raises(ConfigError, match=match):
        rcrnn_data.fit.fit_prepared("database", [part], [], replace(rcrnn_data.FIT, model=model), {})
