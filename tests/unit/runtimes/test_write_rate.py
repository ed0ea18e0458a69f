"""A write rate in libcachezoo, from Python with it and without, and in the simulator: the same bits and decisions."""

import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import cachezoo.runtime
from cachezoo.bundles.writer import write_bundle
from cachezoo.errors import ConfigError
from cachezoo.flash_cache.policies import prefetch_of
from cachezoo.flash_cache.problem import flash_problem
from cachezoo.kernels.flash import FlashRun, WriteRate, simulate_controlled
from cachezoo.kernels.write_budget import THRESHOLD, Controller, fresh_state, missed
from cachezoo.runtime import RuntimeFault
from cachezoo.serving.requests import batch_of
from cachezoo.traces.table import Trace
from cachezoo.zoo.admission.model import load_admission
from cachezoo.zoo.admission.serve import serve_trace
from tests.baleen_data import FLASH, LABEL, make_trace
from tests.bundle_data import EXPORT, metrics, trained_of  # noqa: F401 - a fixture

PROGRAM = "controller_run"
QUICK = Controller(step_misses=8, window_misses=400, recent_misses=60, hold_misses=24, horizon_s=0.4)
BYTES_S = 6e5
GOLDEN = Path(__file__).parents[2] / "golden/protocol2/admission.database.lgbm"


@pytest.mark.parametrize("case", range(8))
def test_every_threshold_has_the_simulators_bits(program: Path, case: int) -> None:
    rng = np.random.default_rng(case)
    rules = Controller(
        low=-3.0, width=float(rng.choice([0.1, 0.25, 0.3])), bins=int(rng.integers(1, 40)), hold_misses=7 * (case % 2),
        step_misses=int(rng.integers(1, 6)), window_misses=int(rng.integers(20, 300)), follows_load=case % 3 > 0,
        recent_misses=int(rng.integers(6, 40)), credit_horizons=float(rng.choice([0.5, 3.0])),
    )  # fmt: skip
    n, rate = 3000, float(rng.choice([3e-5, 1e-4, 2e-4]))
    time = np.cumsum(rng.exponential(2000, n) * np.where(np.arange(n) % 900 < 300, 10, 1)).astype(np.int64)
    score, missing = rng.normal(size=n) * 2, rng.integers(1, 6, n)
    vector, state, mass = rules.rules(rate, 1e5), fresh_state(0.3), np.zeros(rules.bins)
    thresholds, rows = np.zeros(n), np.zeros((n, 4))
    for k in range(n):
        written = int(missing[k]) + k % 3 if score[k] >= state[THRESHOLD] else 0
        missed(vector, state, mass, int(time[k]), float(score[k]), int(missing[k]), written)
        rows[k], thresholds[k] = (time[k], score[k], missing[k], written), state[THRESHOLD]
    given = np.concatenate([vector, [rules.bins, 0.3]]).tobytes() + rows.tobytes()
    done = subprocess.run([program], input=given, capture_output=True, timeout=60, check=True)
    assert done.stdout == thresholds.tobytes()
    assert len(np.unique(thresholds)) > 20


@pytest.fixture(scope="module")
def bundle(trained_of, tmp_path_factory: pytest.TempPathFactory) -> Path:  # noqa: F811
    """One whose controller is quick enough for a short trace, and which prefetches."""
    folder = tmp_path_factory.mktemp("controlled")
    trained = Path(shutil.copytree(trained_of("admission")[0], folder / "trained"))
    values = json.loads((trained / "train.json").read_text())
    values["calibration"]["controller"] = QUICK.document()
    values["calibration"]["with_prefetch"]["mode"] = "next(4)"
    (trained / "train.json").write_text(json.dumps(values))
    requests = batch_of(make_trace(3000, 9)).part(0, 3000)
    write_bundle(trained, requests, metrics("admission.database.lgbm"), EXPORT, folder / "bundle")
    return folder / "bundle"


def simulated(bundle: Path, trace: Trace, bytes_s: float) -> FlashRun:
    """What the simulator makes of a trace."""
    trained, serving = load_admission(bundle.with_name("trained"))
    problem, setting = flash_problem(trace, LABEL, FLASH), trained.calibration["with_prefetch"]
    rate = WriteRate(*QUICK.per_us(bytes_s, 4096), trace.time_us)
    return simulate_controlled(
        problem.accesses, problem.read, serving.scores(serve_trace(serving, trace)), setting["threshold"], QUICK, rate,
        1500, prefetch=prefetch_of(problem, setting["mode"]),
    )  # fmt: skip


def rows_of(trace: Trace) -> list[tuple[int, str, int, int, str, None, str]]:
    assert trace.user is not None
    users, volumes = trace.user.names, trace.volume.names
    columns = trace.time_us, trace.op, trace.offset, trace.size, trace.volume.codes, trace.user.codes
    return [
        (int(at), ("read", "write")[op], int(offset), int(size), volumes[volume], None, users[user])
        for at, op, offset, size, volume, user in zip(*columns, strict=True)
    ]


def test_a_cache_keeps_the_rate_as_the_simulator_does(library: Path, bundle: Path) -> None:
    trace = make_trace(8000, 41)
    want, served = simulated(bundle, trace, BYTES_S), []
    with cachezoo.runtime.open(bundle) as model:
        cache = model.cache(1500)
        model.keep_write_rate(BYTES_S)
        for row in rows_of(trace):
            found = cache.access(*row)
            written = sum(unit.outcome == "admitted" for unit in found.units)
            served.append((found.hits if row[1] == "read" else 0, written if row[1] == "read" else 0))
        cache.close()
    assert [hits for hits, _ in served] == want.hits.tolist()
    assert [written for _, written in served] == want.written.tolist()
    seconds = (trace.time_us[-1] - trace.time_us[0]) / 1e6
    assert want.segment_writes * 4096 / seconds == pytest.approx(BYTES_S, rel=0.05)


def test_who_has_a_cache_of_his_own_says_what_was_written(library: Path, bundle: Path, monkeypatch) -> None:
    """The same by the library and by numpy: every second read hits, and one in three admitted is not written."""
    rows, decided = rows_of(make_trace(2500, 42)), []
    for by_numpy in (False, True):
        if by_numpy:
            monkeypatch.setattr(cachezoo.runtime.abi, "library", lambda: None)
        with cachezoo.runtime.open(bundle) as model:
            own = []
            for k, row in enumerate(rows):
                if k == 200:
                    model.keep_write_rate(BYTES_S / 4)
                decision = model.observe(*row)
                own.append(decision.admit)
                if row[1] == "read" and k % 2:
                    model.wrote(row[0], decision.outputs[0], 3, 3 * decision.admit * (k % 3 > 0))
        decided.append(own)
    assert decided[0] == decided[1]
    assert len(set(decided[0][200:])) == 2


def test_swap_restore_and_another_rate_keep_what_was_written(library: Path, bundle: Path, tmp_path: Path) -> None:
    trace = make_trace(6000, 43)
    rows, written = rows_of(trace), []
    with cachezoo.runtime.open(bundle) as model, cachezoo.runtime.open(bundle) as other:
        cache = model.cache(1500)
        model.keep_write_rate(BYTES_S)
        for k, row in enumerate(rows):
            found = cache.access(*row)
            written.append(sum(unit.outcome == "admitted" for unit in found.units) if row[1] == "read" else 0)
            if k == 2000:
                model.swap(other)
            if k == 3000:
                model.save(tmp_path / "state")
                model.restore(tmp_path / "state")
            if k == 4000:
                model.keep_write_rate(BYTES_S / 2)
        cache.close()
    segments = np.array(written)
    for low, high, rate in ((1000, 4000, BYTES_S), (4000, 6000, BYTES_S / 2)):
        seconds = (trace.time_us[high - 1] - trace.time_us[low]) / 1e6
        assert segments[low:high].sum() * 4096 / seconds == pytest.approx(rate, rel=0.2)


def test_rules(library: Path, bundle: Path, monkeypatch) -> None:
    with cachezoo.runtime.open(bundle) as model:
        for rate in (-1.0, float("nan"), float("inf")):
            with pytest.raises(RuntimeFault, match="write_rate"):
                model.keep_write_rate(rate)
        model.keep_write_rate(5.0)
        model.keep_write_rate(0.0)
        with pytest.raises(RuntimeFault, match="wrote"):
            model.wrote(0, 0.0, -1, 0)
    with cachezoo.runtime.open(GOLDEN) as model, pytest.raises(RuntimeFault, match="earlier release"):
        model.keep_write_rate(5.0)
    monkeypatch.setattr(cachezoo.runtime.abi, "library", lambda: None)
    with cachezoo.runtime.open(GOLDEN) as model, pytest.raises(RuntimeFault, match="earlier release"):
        model.keep_write_rate(5.0)
    serving = load_admission(bundle.with_name("trained"))[1]
    with pytest.raises(ConfigError, match="write rate"):
        serving.keep_write_rate(-1.0)
