"""cachezoo.runtime: the library from Python, its command, its wheel, and numpy in its place."""

import ctypes
import json
import os
import platform
import re
import runpy
import shutil
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import numpy as np
import pytest

from cachezoo.bundles import load
from cachezoo.runtime import RuntimeFault, __main__, abi
from cachezoo.runtime import open as open_model
from cachezoo.serving.requests import batch_of
from tests.baleen_data import make_trace
from tests.bundle_data import reseal

ROOT = Path(__file__).parents[3]
GOLDEN = ROOT / "tests/golden/protocol2"
ADMISSION, CACHING = GOLDEN / "admission.database.lgbm", GOLDEN / "caching.database.lstm1x8"
STRUCTURES = {
    "cz_error": abi.Error, "cz_info": abi.Info, "cz_report": abi.Report, "cz_stream_options": abi.StreamOptions,
    "cz_request": abi.Request, "cz_ticket": abi.Ticket, "cz_decision": abi.Decided,
    "cz_cache_options": abi.CacheOptions, "cz_unit": abi.UnitRow, "cz_access": abi.AccessRow,
    "cz_counters": abi.Counters, "cz_following": abi.Following,
}  # fmt: skip
pytestmark = pytest.mark.needs("gcc")


def texts(coded, n):
    return [None] * n if coded is None else [coded.names[code] for code in coded.codes]


def observed(model, trace):
    n = len(trace)
    columns = (trace.time_us.tolist(), trace.op.tolist(), trace.offset.tolist(), trace.size.tolist())
    rows = zip(*columns, texts(trace.volume, n), texts(trace.namespace, n), texts(trace.user, n), strict=True)
    return [model.observe(at, ("read", "write")[op], *rest) for at, op, *rest in rows]


def test_the_structures_are_those_of_the_header(tmp_path):
    lines = []
    for name, own in STRUCTURES.items():
        lines.append(f'printf("{name} %zu", sizeof({name}));')
        lines += [f'printf(" %zu", offsetof({name}, {field}));' for field, _ in own._fields_]
        lines.append('printf("\\n");')
    program = tmp_path / "layout.c"
    program.write_text(f'#include <stdio.h>\n#include "cachezoo.h"\nint main(void) {{ {" ".join(lines)} return 0; }}')
    compiled = ["gcc", f"-I{ROOT}/runtimes/c/include", str(program), "-o", str(tmp_path / "layout")]
    subprocess.run(compiled, check=True, timeout=60)
    said = subprocess.run([tmp_path / "layout"], capture_output=True, text=True, timeout=60, check=True).stdout
    for line in said.splitlines():
        name, size, *offsets = line.split()
        own = STRUCTURES[name]
        assert ctypes.sizeof(own) == int(size), name
        assert [getattr(own, field).offset for field, _ in own._fields_] == [int(value) for value in offsets], name


def test_decisions_are_those_of_the_simulator_and_of_numpy_alone(library, monkeypatch):
    path, trace = ADMISSION, make_trace(1500, 7)
    with open_model(path) as model:
        found = [decision.values for decision in observed(model, trace)]
        assert model.stats()["requests"] == len(trace)
    monkeypatch.setattr(abi, "library", lambda: None)
    monkeypatch.setattr("cachezoo.runtime.model.abi.library", lambda: None)
    with open_model(path) as model:
        assert [decision.values for decision in observed(model, trace)] == found
    serving = load(path).serving()
    rows = serving.features(batch_of(trace))
    if load(path).kind == "admission":
        admitted = serving.decide(rows) & (trace.op == 0)
        assert [one.admit for one in found] == admitted.tolist() and 0 < admitted.sum() < len(trace)
    else:
        asked = serving.prefetch(rows)
        assert [one.fetch for one in found] == ((asked.low < asked.high) & (trace.op == 0)).tolist()


def test_a_decision_asked_for_late_is_of_its_own_moment(library):
    trace = make_trace(400, 8)
    with open_model(ADMISSION) as one, open_model(ADMISSION) as other:
        at_once = [decision.values for decision in observed(one, trace)]
        late = observed(other, trace)
        assert other.stats()["decisions"] == 0
        assert [decision.values for decision in reversed(late)] == at_once[::-1]
        assert other.stats()["decisions"] in (0, len(trace))  # a runtime may leave them uncounted


def test_saved_and_restored_it_goes_on_as_if_nothing_had_happened(library, tmp_path):
    trace, half = make_trace(1000, 9), 500
    with open_model(ADMISSION) as whole, open_model(ADMISSION) as first, open_model(ADMISSION) as second:
        expected = [decision.values for decision in observed(whole, trace)]
        observed(first, trace.rows(0, half))
        first.save(tmp_path / "state")
        second.restore(tmp_path / "state")
        assert [decision.values for decision in observed(second, trace.rows(half, len(trace)))] == expected[half:]
        (tmp_path / "state").write_bytes((tmp_path / "state").read_bytes()[:-3])
        with pytest.raises(RuntimeFault, match="state"):
            second.restore(tmp_path / "state")


def test_a_state_is_saved_where_links_lead_and_in_the_place_of_no_device(library, tmp_path):
    (tmp_path / "kept").mkdir()
    for name, to in (("link", "kept/state"), ("nowhere", "gone/state"), ("circle", "circle"), ("pipe link", "pipe")):
        (tmp_path / name).symlink_to(to)
    os.mkfifo(tmp_path / "pipe")
    with open_model(ADMISSION) as model:
        (tmp_path / "kept/state").write_text("old")
        model.save(tmp_path / "link")
        model.restore(tmp_path / "kept/state")
        for name in ("pipe", "pipe link", "nowhere", "circle", "kept"):
            with pytest.raises(RuntimeFault, match=rf"{name}: cannot be written"):
                model.save(tmp_path / name)
    assert all((tmp_path / name).is_symlink() for name in ("link", "nowhere", "circle", "pipe link"))
    assert (tmp_path / "pipe").is_fifo()
    assert os.listdir(tmp_path / "kept") == ["state"]


def test_swapping_keeps_what_was_seen(library, tmp_path):
    stricter = Path(shutil.copytree(ADMISSION, tmp_path / "stricter"))
    reseal(stricter, lambda manifest: manifest["calibration"].update(threshold=1e6))
    trace = make_trace(600, 10)
    with open_model(ADMISSION) as model, open_model(ADMISSION) as same, open_model(stricter) as other:
        expected = [decision.outputs for decision in observed(same, trace)]
        first = [decision.outputs for decision in observed(model, trace.rows(0, 300))]
        model.swap(other)
        rest = observed(model, trace.rows(300, 600))
        assert first + [decision.outputs for decision in rest] == expected
        assert not any(decision.admit for decision in rest)
    with open_model(ADMISSION) as model, open_model(CACHING, capacity=8) as foreign, pytest.raises(RuntimeFault):
        model.swap(foreign)


def test_a_cache_says_what_is_where(library):
    trace = make_trace(800, 11)
    capacity, slots = 16, {}
    with open_model(ADMISSION) as model:
        cache = model.cache(capacity)
        for at, op, offset, size in zip(trace.time_us.tolist(), trace.op.tolist(), trace.offset.tolist(),
                                        trace.size.tolist(), strict=True):  # fmt: skip
            access = cache.access(at, ("read", "write")[op], offset, size, "v")
            assert all(slots.get(unit.number) == unit.slot for unit in access.units if unit.outcome == "hit")
            for victim in access.victims:
                slots.pop(victim.number, None)
            slots.update({one.number: one.slot for one in access.units if one.outcome == "admitted" and one.slot >= 0})
            assert len(slots) <= capacity and len(set(slots.values())) == len(slots)
        assert cache.stats()["hits"] > 0 and cache.stats()["evicted"] > 0
        cache.close()


def test_bad_input_is_one_line(library, tmp_path):
    with pytest.raises(RuntimeFault, match="nowhere"):
        open_model(tmp_path / "nowhere")
    with pytest.raises(RuntimeFault, match="precision 'fp64'"):
        open_model(ADMISSION, precision="fp64")
    with pytest.raises(RuntimeFault, match="capacity 0"):
        open_model(CACHING, capacity=0)
    with open_model(ADMISSION) as model:
        for wrong in ({"op": "trim"}, {"size": 0}, {"offset": -1}):
            given = {"time_us": 0, "op": "read", "offset": 0, "size": 4096, **wrong}
            with pytest.raises(RuntimeFault):
                model.observe(**given)
    with pytest.raises(RuntimeFault, match="is closed"):
        model.observe(0, "read", 0, 4096)


def test_a_library_that_is_none_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv(abi.VARIABLE, str(tmp_path / "none.so"))
    with pytest.raises(RuntimeFault, match=r"none\.so: is no libcachezoo"):
        open_model(ADMISSION)


def test_without_the_library_a_page_cache_is_refused_in_one_line(no_library):
    with pytest.raises(RuntimeFault, match="a model of kind caching needs"):
        open_model(CACHING, capacity=8)


def test_the_command_verifies_inspects_compares_and_runs(library, tmp_path, capsys):
    assert __main__.main(["verify", str(ADMISSION)]) == 0
    assert f"{ADMISSION}: verified" in capsys.readouterr().out
    assert __main__.main(["inspect", "--json", str(ADMISSION)]) == 0
    assert json.loads(capsys.readouterr().out)["policy"] == load(ADMISSION).manifest["policy"]
    assert __main__.main(["inspect", str(ADMISSION)]) == 0
    assert "calibration.threshold" in capsys.readouterr().out
    assert __main__.main(["diff", str(ADMISSION), str(ADMISSION)]) == 0
    assert capsys.readouterr().out == "equal\n"
    other = Path(shutil.copytree(ADMISSION, tmp_path / "other"))
    reseal(other, lambda manifest: manifest["calibration"].update(threshold=0.5))
    assert __main__.main(["diff", str(ADMISSION), str(other)]) == 1
    assert "calibration.threshold: " in capsys.readouterr().out
    trace = tmp_path / "t.csv"
    for words in (("read", "write"), ("R", "W")):
        text = (ADMISSION / "golden/requests.csv").read_text()
        trace.write_text(text.replace(",read,", f",{words[0]},").replace(",write,", f",{words[1]},"))
        assert __main__.main(["run", str(ADMISSION), str(trace), "--capacity", "64"]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed[: len(printed) // 2] == printed[len(printed) // 2 :]
    said = dict(line.rsplit(None, 1) for line in printed)
    assert int(said["requests"]) == 250 and 0 < float(said["hit ratio"]) < 1


def test_the_command_refuses_in_one_line(library, tmp_path, capsys):
    damaged = Path(shutil.copytree(ADMISSION, tmp_path / "damaged"))
    (damaged / "model.lgb.txt").write_bytes(b"tree")
    (tmp_path / "t.csv").write_text("time_us,op,offset\n1,read,0\n")
    for at, row in enumerate(("0,erase,0,1", "0,read,\u0663,1", "0,read,1_0,1", "0,read,0")):
        (tmp_path / f"{at}.csv").write_text(f"time_us,op,offset,size\n{row}\n", encoding="utf-8")
    for words in (
        ["verify", str(damaged)], ["inspect", str(tmp_path)], ["run", str(ADMISSION), "/nowhere", "--capacity", "4"],
        *(["run", str(ADMISSION), str(tmp_path / f"{name}.csv"), "--capacity", "4"] for name in "t0123"),
    ):  # fmt: skip
        assert __main__.main(words) == 2
        assert len(capsys.readouterr().err.splitlines()) == 1


def newest_glibc(library):
    """The second number of the newest release of glibc whose symbols a library needs."""
    symbols = subprocess.run(["objdump", "-T", library], capture_output=True, text=True, check=True).stdout
    return max(int(minor) for minor in re.findall(r"GLIBC_2\.(\d+)", symbols))


def test_a_library_that_needs_more_than_glibc_is_for_this_kind_of_machine_alone(tmp_path):
    (tmp_path / "one.c").write_text("#include <math.h>\ndouble one(double x) { return log(x); }\n")
    own = runpy.run_path(str(ROOT / "runtimes/python/setup.py"))["platform_of"]
    build = ["gcc", "-shared", "-fPIC", "-o", tmp_path / "one.so", tmp_path / "one.c", "-lm", "-Wl,--no-as-needed"]
    subprocess.run(build, check=True, timeout=60)
    assert own(tmp_path / "one.so", "linux_x86_64") == f"manylinux_2_{newest_glibc(tmp_path / 'one.so')}_x86_64"
    assert own(tmp_path / "one.so", "macosx_11_0_arm64") == "macosx_11_0_arm64"
    subprocess.run([*build, "-lgcc_s"], check=True, timeout=60)
    assert own(tmp_path / "one.so", "linux_x86_64") == "linux_x86_64"


@pytest.mark.slow(seconds=60)
def test_the_wheel_runs_without_numpy(tmp_path):
    sources = tmp_path / "sources"
    for name in ("runtimes", "src/cachezoo/runtime", "src/cachezoo/bundles"):
        shutil.copytree(ROOT / name, sources / name, ignore=shutil.ignore_patterns("build", "__pycache__"))
    pip = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", str(tmp_path)]
    quickly = {**os.environ, "OPTIMISE": "-O0"}  # a variable of the library's Makefile
    subprocess.run([*pip, str(sources / "runtimes/python")], check=True, env=quickly, timeout=300)
    (wheel,) = tmp_path.glob("cachezoo_runtime-*-py3-none-*.whl")
    version, tag = re.fullmatch(r"cachezoo_runtime-(.*)-py3-none-(.*)\.whl", wheel.name).groups()
    assert f"\nVERSION := {version}\n" in (ROOT / "runtimes/c/Makefile").read_text()
    with zipfile.ZipFile(wheel) as archive:
        (inside,) = (name for name in archive.namelist() if name.endswith("/libcachezoo.so.1"))
        assert tag == f"manylinux_2_{newest_glibc(archive.extract(inside, tmp_path))}_{platform.machine()}"
    venv.create(tmp_path / "env")
    install = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        tmp_path / "env/bin/python",
        "install",
        "-q",
        "--no-index",
        wheel,
    ]
    subprocess.run(install, check=True, timeout=300)
    clean = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    done = subprocess.run(
        [tmp_path / "env/bin/cachezoo-bundle", "verify", str(ADMISSION)],
        env=clean, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0 and done.stdout.endswith("verified\n"), done.stderr
    asked = [tmp_path / "env/bin/python", "-c", "import numpy"]
    assert subprocess.run(asked, env=clean, capture_output=True, timeout=60, check=False).returncode != 0


def test_golden_rows_of_every_stored_bundle_are_reproduced(library):
    served = [path.parent for path in sorted(GOLDEN.glob("*/manifest.json"))]
    for path in served:
        with open_model(path, capacity=64) as model:
            report = model.verify()
        assert report["agreement"] == 1.0 and report["rows"] >= 250
        assert np.isfinite(report["output_difference"])
