"""Bundles of classics in libcachezoo: verified, run, and held to the simulator; and classics without a bundle."""

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from cachezoo.bundles.classic import id_of, write_policy
from cachezoo.policies import mounted
from cachezoo.policies.simulate import Simulator
from cachezoo.policies.spec import parse
from cachezoo.runtime import Model, RuntimeFault, __main__
from cachezoo.runtime import open as open_model
from cachezoo.runtime import policy as open_policy
from cachezoo.traces.pages import expand_pages
from tests.baleen_data import make_trace

pytestmark = pytest.mark.needs("gcc")
WHOLE = "rejectx(x=2, window_capacities=9)+lirs(hir=0.05)+next(n=4)"
TEXTS = [*(one.id for one in mounted.EVICTIONS), WHOLE, "coinflip(p=0.3)+twoq(kin=0.4)", "clock(bits=3, initial=7)",
         "s3fifo(small=0.25, ghost=1.5, promote=3)+next(n=1)", "wtinylfu(window=0.2, sample=3)"]  # fmt: skip
CAPACITY = 60


@pytest.fixture(scope="module")
def trace():
    made = make_trace(2_500, 5)
    return replace(made, offset=made.offset % (1 << 21), size=made.size % (1 << 14) + 1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_policy(WHOLE, tmp_path_factory.mktemp("classic") / id_of(parse(WHOLE)))[0]


def served(model: Model, trace, writes=None):
    """Hits, and the victims of each request, of a trace through a model's cache."""
    volumes = [trace.volume.names[code] for code in trace.volume.codes]
    columns = (trace.time_us.tolist(), trace.op.tolist(), trace.offset.tolist(), trace.size.tolist(), volumes)
    cache = model.cache(CAPACITY, writes=writes)
    hits, left = 0, []
    for at, op, offset, size, volume in zip(*columns, strict=True):
        found = cache.access(at, ("read", "write")[op], offset, size, volume)
        hits += found.hits
        left += [unit.number for unit in found.victims]
    counters = cache.stats()
    cache.close()
    return hits, left, counters


@pytest.mark.parametrize("text", TEXTS)
def test_a_bundle_is_verified_and_decides_as_the_simulator_does(library, text, trace, tmp_path):
    path, _ = write_policy(text, tmp_path / id_of(parse(text)))
    own = Simulator(trace, expand_pages(trace)).run(text, CAPACITY, 0)
    with open_model(path, CAPACITY) as model:
        report = model.verify()
        assert (report["cases"], report["output_difference"], report["agreement"]) == (9, 0, 1)
        assert model.info["kind"] == "policy" and model.info["id"] == id_of(parse(text))
        hits, left, counters = served(model, trace)
    assert (hits, len(left)) == (own.hits, own.replacements)
    assert (counters["prefetched"], counters["dirty_evicted"]) == (own.prefetched, own.dirty_evictions)
    with open_policy(text, CAPACITY) as model:
        assert served(model, trace)[:2] == (hits, left)


@pytest.mark.parametrize("writes", ["around", "through", "back"])
def test_what_writes_do_is_the_simulator_s(library, writes, folder, trace):
    own = Simulator(trace, expand_pages(trace), writes).run(WHOLE, CAPACITY, 0)
    with open_model(folder, CAPACITY) as model:
        assert served(model, trace, writes)[0] == own.hits
        with pytest.raises(RuntimeFault, match="writes 'late': there are around, through, back"):
            model.cache(CAPACITY, writes="late")


def test_commands_take_it_as_any_other(built, library, folder, trace, tmp_path, capsys):
    rows = zip(trace.time_us, trace.op, trace.offset, trace.size, trace.volume.codes, strict=True)
    lines = [f"{at},{'RW'[op]},{offset},{size},{trace.volume.names[code]}" for at, op, offset, size, code in rows]
    (tmp_path / "trace.csv").write_text("\n".join(["time_us,op,offset,size,volume", *lines, ""]))
    hits = Simulator(trace, expand_pages(trace)).run(WHOLE, CAPACITY, 0).hits

    def cz(*words: object) -> str:
        done = subprocess.run([built / "cz", *map(str, words)], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert "verified: " in cz("verify", folder) and "kind           policy\n" in cz("inspect", folder)
    assert f"hits           {hits}\n" in cz("run", folder, tmp_path / "trace.csv", "--capacity", CAPACITY)
    for command in ("verify", "inspect"):
        assert __main__.main([command, str(folder)]) == 0
    assert "policy.eviction.hir" in capsys.readouterr().out
    assert __main__.main(["run", str(folder), str(tmp_path / "trace.csv"), "--capacity", str(CAPACITY)]) == 0
    assert f"hits               {hits}\n" in capsys.readouterr().out


@pytest.mark.parametrize("text", ["belady", "bloom+lru", "follow", "nothing", "lru+lru", "s3fifo(small=2)"])
def test_what_the_library_does_not_run_is_refused_in_a_line(library, text):
    with pytest.raises(RuntimeFault, match=text.split("+")[0].split("(")[0]) as caught:
        open_policy(text, CAPACITY)
    assert "\n" not in str(caught.value)


def test_without_the_library_a_line_says_so(no_library, folder):
    with pytest.raises(RuntimeFault, match="a model of kind policy needs"):
        open_model(folder, CAPACITY)
    with pytest.raises(RuntimeFault, match="was not found; a cache runs in it alone"):
        open_policy("lru", CAPACITY)


def test_golden_rows_that_differ_are_named(library, folder, tmp_path):
    from tests.bundle_data import reseal

    copy = Path(tmp_path / folder.name)
    for path in folder.rglob("*"):
        if path.is_file():
            (copy / path.relative_to(folder)).parent.mkdir(parents=True, exist_ok=True)
            (copy / path.relative_to(folder)).write_bytes(path.read_bytes())
    reseal(copy, lambda manifest: manifest["golden"]["context"].update(capacity_pages=30))
    with open_model(copy, CAPACITY) as model, pytest.raises(RuntimeFault, match=r"row \d+ of golden/\w+\.npy"):
        model.verify()
