import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

import cachezoo as cz
from cachezoo.bundles.reader import load
from cachezoo.bundles.writer import write_bundle
from cachezoo.contest.counting import first_access
from cachezoo.errors import BundleError
from cachezoo.policies.simulate import Simulator, count
from cachezoo.questions.page.bench import Bench
from cachezoo.questions.page.bundle import out_of_calibration, simulate_bundle
from cachezoo.serving.requests import RequestBatch
from cachezoo.traces.pages import expand_pages
from cachezoo.traces.store import write_trace
from cachezoo.zoo.caching.evaluate import evaluate_caching
from tests.baleen_data import make_trace
from tests.bundle_data import EXPORT, metrics, model_id, trained_of  # noqa: F401 - a fixture
from tests.command_line import run

STORED = Path(__file__).parents[3] / "golden/protocol2"
Trained = Callable[[str], tuple[Path, RequestBatch]]


@pytest.fixture
def bundle_of(trained_of: Trained, tmp_path: Path) -> Callable[[str], Path]:  # noqa: F811
    def write(kind: str) -> Path:
        folder, requests = trained_of(kind)
        out = tmp_path / model_id(folder)
        write_bundle(folder, requests, metrics(model_id(folder)), EXPORT, out)
        return out

    return write


def test_a_caching_bundle_runs_its_own_cache(
    bundle_of: Callable[[str], Path],
    trained_of: Trained,  # noqa: F811
) -> None:
    trace = make_trace(900, 21)
    pages = expand_pages(trace)
    capacity = pages.n_pages // 5
    path = bundle_of("caching")
    run = evaluate_caching(trained_of("caching")[0], trace, pages, capacity)
    whole = simulate_bundle(path, trace, pages, capacity, 0)
    assert (whole.hits, whole.ssd_writes) == (run.totals["hits"], run.totals["ssd_writes"])
    assert whole.policy == path.name and whole.kernel_s > 0 and 0 < whole.hits < whole.page_accesses
    warmup = first_access(pages)
    later, want = simulate_bundle(path, trace, pages, capacity, warmup), count(
        trace, pages, path.name, capacity, warmup, run.outcomes
    )  # fmt: skip
    assert (later.hits, later.ssd_writes, later.requests) == (want.hits, want.ssd_writes, want.requests)
    assert (later.dirty_evictions, later.replacements) == (want.dirty_evictions, want.replacements)
    assert whole.dirty_evictions == run.totals["dirty_evictions"] > 0
    assert whole.replacements == run.totals["replacements"] > whole.dirty_evictions
    assert whole.disk_writes >= whole.dirty_evictions


def test_a_size_that_its_threshold_was_not_chosen_for_is_marked(tmp_path: Path) -> None:
    trace = make_trace(400, 21)
    write_trace(trace, tmp_path / "t.parquet")
    bundle = load(STORED / "caching.database.lstm1x8")
    bench = Bench.of(Simulator(trace, expand_pages(trace)))
    tenth = bench.pages.n_pages // 10
    assert out_of_calibration(bundle, bench, tenth) is None
    assert out_of_calibration(bundle, bench, 2 * tenth) == (0.1, 0.1)
    sizes = [{"capacity": share, "ratio_log2": -1 / share, "threshold": 0.5, "queues": "three"} for share in (0.1, 0.4)]
    bundle.manifest["calibration"]["by_capacity"] = sizes
    assert [out_of_calibration(bundle, bench, share * tenth) for share in (1, 4, 5)] == [None, None, (0.1, 0.4)]
    classic = load(STORED / "reuse.follow")
    assert out_of_calibration(classic, bench, 9 * tenth) is None
    asked = ("compare", tmp_path / "t.parquet", "--policy", "lru", "--size", "10%,50%", "--bundle")
    shown = run(*asked, STORED / "caching.database.lstm1x8").stdout
    assert len(re.findall(r"caching.database.lstm1x8 †", shown)) == 1
    assert (
        "† caching.database.lstm1x8: its threshold is for caches of 10 % of a trace's distinct pages"
        in shown.replace("\N{NO-BREAK SPACE}", " ")
    )
    found = json.loads(run(*asked, STORED / "caching.database.lstm1x8", "--json").stdout)["runs"]
    assert [one["out_of_calibration"] for one in found] == [[], ["caching.database.lstm1x8"]]
    own = cz.compare(tmp_path / "t.parquet", "lru", ["10%", "50%"], bundle=STORED / "caching.database.lstm1x8")
    assert [one["out_of_calibration"] for one in own.values["runs"]] == [[], ["caching.database.lstm1x8"]]
    assert "caching.database.lstm1x8: its threshold is for caches of 10" in str(own)


def test_a_workload_bundle_is_one_line(bundle_of: Callable[[str], Path]) -> None:
    trace = make_trace(50, 21)
    with pytest.raises(BundleError, match="a workload bundle does not decide on misses") as caught:
        simulate_bundle(bundle_of("workload"), trace, expand_pages(trace), 10, 0)
    assert "\n" not in str(caught.value)


def test_compare_names_the_command_that_runs_a_bundle_of_the_flash_cache(tmp_path: Path) -> None:
    write_trace(make_trace(200, 21), tmp_path / "t.parquet")
    bundle = STORED / "admission.database.lgbm"
    done = run("compare", tmp_path / "t.parquet", "--bundle", bundle, "--policy", "lru", ok=False)
    assert done.returncode == 1 and len(done.stderr.splitlines()) == 1
    assert f"{bundle}: admission.database.lgbm decides for a flash cache" in done.stderr
    assert f"run cachezoo recommend --only flash TRACE --bundle {bundle}" in done.stderr
    with pytest.raises(BundleError) as caught:
        cz.compare(tmp_path / "t.parquet", "lru", bundle=bundle)
    assert str(caught.value) in done.stderr


def test_compare_takes_a_bundle_at_several_capacities(bundle_of: Callable[[str], Path], tmp_path: Path) -> None:
    write_trace(make_trace(600, 21), tmp_path / "t.parquet")
    bundles = [bundle_of("caching"), STORED / "reuse.follow"]
    options = [word for path in bundles for word in ("--bundle", path)]
    done = run("compare", tmp_path / "t.parquet", "--capacity", "20%,5%", *options, "--policy", "lru", "--json")
    trace = make_trace(600, 21)
    pages = expand_pages(trace)
    runs = json.loads(done.stdout)["runs"]
    assert runs[0]["capacity"] > runs[1]["capacity"]
    for result in runs:
        rows = {row["policy"]: row for row in result["rows"]}
        for path in bundles:
            row = rows[path.name]
            want = simulate_bundle(path, trace, pages, result["capacity"], result["warmup"])
            assert (row["hits"], row["ssd_writes"], row["kind"]) == (want.hits, want.ssd_writes, "model")
            assert row["gap_points"] is not None
