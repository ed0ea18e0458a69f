"""From Python what the commands say of files that are long, or of a part of them."""

import json

import numpy as np
import pytest

import cachezoo as cz
from cachezoo.errors import CachezooError
from cachezoo.policies import long, stream
from cachezoo.traces import memory, sampling
from cachezoo.traces.pages import expand_pages
from cachezoo.traces.store import write_trace
from tests.command_line import run
from tests.page_data import seeded_trace

ASKED = {
    "simulate": (lambda file, sample: cz.simulate(file, ["lru", "s3fifo"], "10%", sample=sample), ("--policy", "lru")),
    "compare": (lambda file, sample: cz.compare(file, ["lru", "s3fifo"], "10%", sample=sample), ("--policy", "lru")),
    "curve": (lambda file, sample: cz.curve(file, ["lru", "s3fifo"], points=3, sample=sample), ("--policy", "lru")),
    "recommend": (lambda file, sample: cz.recommend(file, ask_models=False, sample=sample), ("--no-models",)),
    "size": (
        lambda file, sample: cz.size(file, hierarchy="lru", sample=sample),
        ("--only", "ram-ssd", "--hierarchy", "lru"),
    ),
}
FURTHER = {
    "simulate": ("--policy", "s3fifo"), "compare": ("--policy", "s3fifo", "--workers", "1"),
    "curve": ("--policy", "s3fifo", "--points", "3"),
}  # fmt: skip


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    trace = seeded_trace(4000, 40_000, 7)
    path = tmp_path_factory.mktemp("long") / "ids.parquet"
    write_trace(trace, path, expand_pages(trace))
    return path


@pytest.fixture
def many(monkeypatch):
    """What is long: more than some thousand accesses, of which a sample has about half."""
    monkeypatch.setenv(memory.FROM, "1")
    monkeypatch.setattr(sampling, "SAMPLED", 12_000)
    for module in (long, stream):
        monkeypatch.setattr(module, "AT_ONCE", 700)


def plain(value):
    """Without what is of this run alone."""
    if isinstance(value, dict):
        return {name: plain(own) for name, own in value.items() if name not in ("requests_per_s", "trace", "next")}
    return [plain(own) for own in value] if isinstance(value, list | tuple) else value


@pytest.mark.parametrize("sample", ["exact", "auto", "0.6"])
@pytest.mark.parametrize("name", ASKED)
def test_an_answer_is_the_commands(name, sample, file, many):
    ask, words = ASKED[name]
    found = ask(file, sample)
    command = "recommend" if name == "size" else name
    printed = run(command, file, *words, *FURTHER.get(name, ()), "--sample", sample, "--json").stdout
    assert plain(json.loads(json.dumps(found.values))) == plain(json.loads(printed))
    assert sample == "exact" or "error" in printed


def shared(traces, sample):
    return cz.share(
        traces, "800p", partitioner="shared,equal", fragment=8, order="lockstep", names="one,other", sample=sample
    )


@pytest.mark.parametrize("sample", ["exact", "auto", "0.6"])
def test_a_split_is_the_commands(sample, file, many):
    found = shared([file, file], sample)
    words = ("--size", "800p", "--partitioner", "shared,equal", "--fragment", "8", "--order", "lockstep")
    words += ("--names", "one,other")
    printed = run("recommend", "--only", "share", file, file, *words, "--sample", sample, "--json").stdout
    assert json.loads(json.dumps(found.values)) == json.loads(printed)
    assert (0 < found.values.get("trace_sampled", 1) < 1) == (sample != "exact")


def test_traces_in_memory_are_sampled_at_a_rate_or_with_long_files(file, many):
    whole, part = cz.read(file), shared([file, file], 0.6).values
    assert "trace_sampled" not in shared([whole, whole], "auto").values
    assert shared([whole, file], "auto").values["trace_sampled"] < 1
    for traces in ([whole, whole], [whole, file]):
        own = shared(traces, 0.6).values
        assert own["trace_sampled"] == 0.6 and own["references"] == part["references"]
        for ours, theirs in zip(own["rows"], part["rows"], strict=True):
            assert ours["transfers"] == pytest.approx(theirs["transfers"], rel=0.02)


@pytest.mark.parametrize("name", ["simulate", "compare", "curve"])
def test_of_a_long_file_the_figures_are_those_of_the_trace_in_memory(name, file, many, monkeypatch):
    ours = ASKED[name][0](file, "exact")
    monkeypatch.delenv(memory.FROM)
    assert plain(ours.values) == plain(ASKED[name][0](cz.read(file), "exact").values)


def test_a_part_of_what_is_in_memory_is_that_of_its_file(file):
    for name in ("simulate", "recommend", "size"):
        ours, theirs = (ASKED[name][0](source, 0.6) for source in (cz.read(file), file))
        for one, other in zip(ours.rows, theirs.rows, strict=True):
            numbers = [own for own in one if isinstance(one[own], float) and own != "requests_per_s"]
            assert [one[own] for own in numbers] == pytest.approx(
                [other[own] for own in numbers], rel=0.02, nan_ok=True
            )


def test_what_a_sample_cannot_stand_for_is_refused(file):
    for asked, said in (
        (lambda: cz.simulate(file, "lru+next(n=4)", sample=0.5), "no sample of the pages stands for its neighbours"),
        (lambda: cz.compare(file, "lru", bundle="there", sample=0.5), "--bundle: needs all requests"),
        (lambda: cz.simulate(file, "lru", first=10, sample=0.5), "--sample .0.5.: takes the whole trace"),
        (lambda: cz.simulate(file, "lru", sample="most"), "--sample"),
        (lambda: cz.size(np.arange(100), sample=2), "--sample"),
    ):  # fmt: skip
        with pytest.raises(CachezooError, match=said):
            asked()
