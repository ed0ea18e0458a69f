"""RC-RNN's cache on public traces: which of a folder's are run, and what its rows are."""

from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from cachezoo.coded import Coded
from cachezoo.contest.counting import first_access
from cachezoo.devices.profile import load_models
from cachezoo.errors import CachezooError, TraceError
from cachezoo.policies.registry import OPTIMUM, classics
from cachezoo.policies.simulate import Simulator, simulate
from cachezoo.questions.page.bench import Bench
from cachezoo.questions.page.rcrnn import Rcrnn
from cachezoo.questions.page.turns import TurnsCache
from cachezoo.traces.pages import capacity_pages, expand_pages
from cachezoo.traces.read import read_any
from lab.rcrnn import public, public_plot
from lab.rcrnn.public import PROFILE, Settings, block_traces, measured, msr_volume, read_public, run_public
from tests.caching_turns import RULES, changed, monitor
from tests.rcrnn_data import make_trace

SETTINGS = Settings([0.05, 0.2], {"caching": 200.0})
HEAD = "Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime"


@pytest.fixture(scope="module")
def bundles(tmp_path_factory):
    own = tmp_path_factory.mktemp("bundles")
    monitor(own / "workload.lstm8")
    changed(own / "caching.pairs.lstm1x8", "pairs", 0.5, 1.3)
    changed(own / "caching.turns.lstm1x8", "turns", 0.45, 0.7, **RULES, state="reset100")
    return own


def written(path, seed, host="hm", n=2400, disk="0"):
    """An MSR trace."""
    trace = make_trace(n, seed)
    rows = [HEAD]
    for at, op, offset, size in zip(trace.time_us, trace.op, trace.offset, trace.size, strict=True):
        time = 128_166_372_000_000_000 + 10 * int(at)
        rows.append(f"{time},{host},{disk},{'Write' if op else 'Read'},{offset},{size},100")
    path.write_text("\n".join(rows) + "\n")
    return path


@pytest.fixture
def folder(tmp_path):
    own = tmp_path / "block"
    own.mkdir()
    written(own / "a.csv", 1)
    return own


def test_the_same_requests_in_another_file_and_what_is_no_trace_are_left_out(folder, capsys, monkeypatch):
    written(folder / "b.csv", 1, "prn")
    (folder / "c.txt").write_text("no trace\n")
    written(folder / "d.csv", 2, "usr")
    monkeypatch.setattr(public, "MOST_REQUESTS", 2_000)
    found = dict(block_traces(folder))
    assert {name: len(trace) for name, trace in found.items()} == {"a": 2_000, "d": 2_000}
    said = capsys.readouterr().err
    assert "left out: b.csv has the requests of a.csv" in said and "c.txt" in said


def test_requests_without_a_direction_are_left_out(folder, capsys):
    rows = np.zeros(300, [("time", "<u4"), ("id", "<u8"), ("size", "<u4"), ("next", "<i8")])
    rows["time"], rows["id"], rows["size"], rows["next"] = np.arange(300), np.arange(300) * 8, 4096, -1
    rows.tofile(folder / "b.oracleGeneral.bin")
    assert list(dict(block_traces(folder))) == ["a"]
    assert "b.oracleGeneral.bin does not say what was written" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "volume", "said"),
    [
        ("any", "hm.0", "hm_0"), ("msr-cambridge1-src2_1", "x.7", "src2_1"), ("PRXY_0", "x.7", "prxy_0"),
        ("requests_0", "usr.1", "usr_1"), ("web_12", "stg.0", "stg_0"),
    ],
)  # fmt: skip
def test_a_volume_of_msr_is_known_by_its_file_s_name_or_its_format(folder, name, volume, said):
    trace = read_any(folder / "a.csv", quiet=True)
    host = Coded.constant(volume, len(trace))
    assert msr_volume(name, replace(trace, volume=host)) == said
    assert msr_volume("any", make_trace(20, 1)) == ""


def test_every_cache_runs_at_every_size_and_the_classifier_says_whose_model(folder, bundles):
    found = run_public(folder, bundles, SETTINGS)
    trace = read_any(folder / "a.csv", quiet=True)
    pages = expand_pages(trace)
    simulator = Simulator(trace, pages)
    bench, warmup = Bench.of(simulator, load_models(PROFILE)), first_access(pages)
    (about,) = found.traces
    assert (about.trace, about.msr_volume, about.format, about.requests) == ("a", "hm_0", "msr", 2400)
    assert about.distinct_pages == pages.n_pages
    assert about.reads_per_write == pytest.approx((trace.op == 0).sum() / (trace.op == 1).sum())
    assert sum(one.share for one in about.decided) == pytest.approx(1.0)
    for fraction in SETTINGS.fractions:
        capacity = capacity_pages(fraction, pages.n_pages)
        rows = {row.policy: row for row in found.rows if row.capacity_fraction == fraction}
        assert list(rows) == [*classics(), OPTIMUM, "rcrnn"]
        lru, own = simulate(trace, pages, "lru", capacity, warmup), TurnsCache(Rcrnn(), bundles)
        ran = own.simulated(bench, capacity)
        assert rows["lru"].hit_ratio == lru.hit_ratio and rows["rcrnn"].hit_ratio == ran.hit_ratio
        assert rows["rcrnn"].response_us == pytest.approx(ran.mean_response_us(bench.times, 200.0))
        assert about.takeovers == own.turns[0].takeovers


def test_the_document_is_drawn_printed_and_read_again(folder, bundles, tmp_path):
    found = run_public(folder, bundles, SETTINGS)
    public_plot.draw(found, tmp_path / "public.png")
    assert Image.open(tmp_path / "public.png").size[0] > 500
    assert [table.row_count for table in public_plot.tables(found)] == [1, 2, 2, 2, 2]
    (tmp_path / "public.json").write_text(found.model_dump_json())
    assert read_public(tmp_path / "public.json") == found


def test_without_the_variable_nothing_is_run_and_a_line_says_so(monkeypatch, capsys):
    monkeypatch.delenv("CACHEZOO_PUBLIC_TRACES", raising=False)
    assert measured(SETTINGS) is None
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and "is not set; lab/results/rcrnn/public.json stays as it is" in said


def test_a_folder_or_bundles_that_are_missing_are_named(tmp_path, folder, monkeypatch):
    monkeypatch.setenv("CACHEZOO_PUBLIC_TRACES", str(tmp_path / "no"))
    with pytest.raises(CachezooError, match=r"no/block: is not there; CACHEZOO_PUBLIC_TRACES names its parent"):
        measured(SETTINGS)
    with pytest.raises(CachezooError, match=r"none: is missing; run `make repro`"):
        run_public(folder, tmp_path / "none", SETTINGS)
    (folder / "a.csv").unlink()
    with pytest.raises(TraceError, match="has no block trace"):
        run_public(folder, tmp_path, SETTINGS)
