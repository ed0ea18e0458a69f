"""cz_placement from Python and on the command lines: the answers of numpy, and what is refused."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from cachezoo.bundles import load
from cachezoo.bundles.measured import Metrics
from cachezoo.bundles.writer import write_bundle
from cachezoo.runtime import RuntimeFault, abi, bundle_cli, table
from cachezoo.runtime import open as open_model
from cachezoo.zoo.streams.dictionary import CHUNK_BYTES, Dictionary
from tests import placement_data
from tests.bundle_data import EXPORT
from tests.c_library import make
from tests.unit.runtimes.test_libcachezoo import run
from tests.unit.zoo.streams.test_bundle import DAMAGES, reseal

STORED = Path(__file__).parents[2] / "golden/protocol2/streams.ledger.fios"
ADMISSION = STORED.parent / "admission.database.lgbm"
pytestmark = pytest.mark.needs("gcc")


@pytest.fixture(scope="session")
def built(tmp_path_factory):
    return make(tmp_path_factory, "all")


@pytest.fixture
def library(built, monkeypatch):
    monkeypatch.setenv(abi.VARIABLE, str(built / "libcachezoo.so.1"))


@pytest.fixture
def no_library(monkeypatch):
    monkeypatch.delenv(abi.VARIABLE, raising=False)
    monkeypatch.setattr(abi, "NAME", "libcachezoo-that-is-nowhere.so")


def offsets_of(own):
    """Both sides of every edge, and offsets all over and far beyond."""
    edges = own.starts.astype(np.int64) * CHUNK_BYTES
    drawn = np.random.default_rng(1).integers(0, 2 * int(edges[-1]) + 1, 500)
    far = np.array([1 << 31, 1 << 32, (1 << 47) - 1, 1 << 47, (1 << 62) - 512, (1 << 63) - 1])
    return np.concatenate([edges, np.maximum(edges - 1, 0), edges + CHUNK_BYTES, drawn, far])


@pytest.mark.parametrize("chunks", [20, 4096, 100_000])
def test_the_library_answers_as_numpy_does(library, tmp_path, chunks):
    own = placement_data.dictionary(7, chunks)
    folder, out = placement_data.write_model(tmp_path / "model", own), tmp_path / "streams.ledger.fios"
    write_bundle(folder, placement_data.requests(400, 4, chunks), Metrics(), EXPORT, out)
    offsets = offsets_of(own)
    with open_model(out) as model:
        assert [model.placement(offset) for offset in offsets.tolist()] == load(out).serving().placements(
            offsets
        ).tolist()
        assert model.info["kind"] == "streams" and model.verify()["agreement"] == 1


def test_without_the_library_numpy_answers(no_library):
    model = open_model(STORED)
    offsets = offsets_of(load(STORED).serving().dictionary)
    assert [model.placement(int(offset)) for offset in offsets] == load(STORED).serving().placements(offsets).tolist()
    assert model.observe(0, "write", int(offsets[3]), 4096, "sda").outputs == (float(model.placement(int(offsets[3]))),)
    assert bundle_cli.main(["verify", str(STORED)]) == 0


def bad_calls():
    with open_model(STORED) as model:
        for offset in (-1, 1 << 63):
            with pytest.raises(RuntimeFault, match="a write begins at byte 0"):
                model.placement(offset)
    with open_model(ADMISSION) as model, pytest.raises(RuntimeFault, match="kind admission places no writes"):
        model.placement(0)


def test_bad_calls_are_one_line(library):
    bad_calls()


def test_bad_calls_are_one_line_without_the_library(no_library):
    bad_calls()


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_dictionary_is_refused_in_one_line(library, built, tmp_path, name):
    folder = Path(shutil.copytree(STORED, tmp_path / STORED.name))
    (folder / "sid.bin").write_bytes(DAMAGES[name]((folder / "sid.bin").read_bytes()))
    reseal(folder)
    with pytest.raises(RuntimeFault) as refused:
        open_model(folder)
    assert f"{folder}/sid.bin: " in str(refused.value) and "\n" not in str(refused.value)
    done = run(built / "cz", "verify", folder)
    assert done.returncode == 1 and "sid.bin" in done.stderr and done.stderr.count("\n") == 1


def counted(trace):
    """Lines of `run`, by a walk of the rows."""
    rows = [line.split(",") for line in trace.read_text().splitlines()[1:]]
    serving, found = load(STORED).serving(), {}
    for _, op, offset, size, *_ in rows:
        if op == "write":
            own = found.setdefault(serving.placement(int(offset)), [0, 0])
            own[0], own[1] = own[0] + 1, own[1] + int(size)
    reads = sum(row[1] == "read" for row in rows)
    return [["reads", str(reads)], ["stream", "writes", "bytes"]] + [
        [str(value) for value in (stream, *own)] for stream, own in sorted(found.items())
    ]


def test_both_commands_count_the_writes_of_each_stream(library, built, capsys):
    trace = STORED / "golden/requests.csv"
    done = run(built / "cz", "run", STORED, trace)
    assert done.returncode == 0, done.stderr
    assert [line.split() for line in done.stdout.splitlines()] == counted(trace)
    assert bundle_cli.main(["run", str(STORED), str(trace)]) == 0
    assert [line.split() for line in capsys.readouterr().out.splitlines()] == counted(trace)


@pytest.mark.parametrize(("bundle", "words"), [(STORED, ["--capacity", "5"]), (ADMISSION, [])])
def test_a_capacity_belongs_to_caches(library, built, capsys, bundle, words):
    trace = str(STORED / "golden/requests.csv")
    done = run(built / "cz", "run", bundle, trace, *words)
    assert done.returncode == 1 and "--capacity" in done.stderr and done.stderr.count("\n") == 1
    assert bundle_cli.main(["run", str(bundle), trace, *words]) == 2
    said = capsys.readouterr().err
    assert "--capacity" in said and said.count("\n") == 1


def test_a_diff_says_how_much_of_the_volume_moved(library, tmp_path, capsys):
    own = load(STORED).serving().dictionary
    chunks = np.arange(100)
    old, new = (Dictionary.of(chunks, chunks // cut % 4, own.count) for cut in (10, 20))
    wanted = int((old.look_up(chunks) != new.look_up(chunks)).sum())
    ends = max(int(one.starts[-1]) for one in (old, new))
    assert table.moved(old.to_bytes(), new.to_bytes()) == (ends, wanted)
    with pytest.raises(RuntimeFault, match="its size is not that of its ranges"):
        table.moved(old.to_bytes(), b"x")
    paths = []
    for name, one in (("a", old), ("b", new)):
        paths.append(tmp_path / name / STORED.name)
        model = placement_data.write_model(tmp_path / name / "model", one)
        write_bundle(model, placement_data.requests(300, 4, 100), Metrics(), EXPORT, paths[-1])
    assert bundle_cli.main(["diff", str(paths[0]), str(paths[1])]) == 1
    share = 100 * wanted / ends
    assert f"sid.bin: {share:.1f} % of the {ends} chunks up to the last one learned" in capsys.readouterr().out
    assert json.loads((paths[0] / "manifest.json").read_text())["cost"]["state_bytes"] == 0
