"""cz_placement from Python and on the command lines: the answers of numpy, and what is refused."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from cachezoo.bundles import load
from cachezoo.bundles.measured import Metrics
from cachezoo.bundles.writer import write_bundle
from cachezoo.runtime import RuntimeFault, __main__
from cachezoo.runtime import open as open_model
from cachezoo.serving.requests import batch_of
from cachezoo.traces.read import read_any
from cachezoo.zoo.streams.dictionary import CHUNK_BYTES, Dictionary
from tests import placement_data
from tests.bundle_data import EXPORT, reseal
from tests.unit.runtimes.test_libcachezoo import run
from tests.unit.zoo.streams.test_dictionary import DAMAGES

STORED = Path(__file__).parents[2] / "golden/protocol2/streams.ledger.fios"
ADMISSION = STORED.parent / "admission.database.lgbm"
pytestmark = pytest.mark.needs("gcc")


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
    assert __main__.main(["verify", str(STORED)]) == 0


@pytest.mark.parametrize("present", ["library", "no_library"])
def test_bad_calls_are_one_line(request, present):
    request.getfixturevalue(present)
    with open_model(STORED) as model:
        for offset in (-1, 1 << 63):
            with pytest.raises(RuntimeFault, match="a write begins at byte 0"):
                model.placement(offset)
    with open_model(ADMISSION) as model, pytest.raises(RuntimeFault, match="kind admission places no writes"):
        model.placement(0)


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_dictionary_is_refused_in_one_line(library, built, tmp_path, name):
    folder = Path(shutil.copytree(STORED, tmp_path / STORED.name))
    (folder / "sid.bin").write_bytes(DAMAGES[name][0]((folder / "sid.bin").read_bytes()))
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
    assert __main__.main(["run", str(STORED), str(trace)]) == 0
    assert [line.split() for line in capsys.readouterr().out.splitlines()] == counted(trace)


@pytest.mark.parametrize(("bundle", "words"), [(STORED, ["--capacity", "5"]), (ADMISSION, [])])
def test_a_capacity_belongs_to_caches(library, built, capsys, bundle, words):
    trace = str(STORED / "golden/requests.csv")
    done = run(built / "cz", "run", bundle, trace, *words)
    assert done.returncode == 1 and "--capacity" in done.stderr and done.stderr.count("\n") == 1
    assert __main__.main(["run", str(bundle), trace, *words]) == 2
    said = capsys.readouterr().err
    assert "--capacity" in said and said.count("\n") == 1


def test_a_diff_says_how_much_of_the_volume_moved(library, tmp_path, capsys):
    own = load(STORED).serving().dictionary
    chunks = np.arange(100)
    old, new = (Dictionary.of(chunks, chunks // cut % 4, own.count) for cut in (10, 20))
    wanted = int((old.look_up(chunks) != new.look_up(chunks)).sum())
    ends = max(int(one.starts[-1]) for one in (old, new))
    assert __main__.chunks_moved(old.to_bytes(), new.to_bytes()) == (ends, wanted)
    with pytest.raises(RuntimeFault, match="its size is not that of its ranges"):
        __main__.chunks_moved(old.to_bytes(), b"x")
    paths = []
    for name, one in (("a", old), ("b", new)):
        paths.append(tmp_path / name / STORED.name)
        model = placement_data.write_model(tmp_path / name / "model", one)
        write_bundle(model, placement_data.requests(300, 4, 100), Metrics(), EXPORT, paths[-1])
    assert __main__.main(["diff", str(paths[0]), str(paths[1])]) == 1
    share = 100 * wanted / ends
    assert f"sid.bin: {share:.1f} % of the {ends} chunks up to the last one learned" in capsys.readouterr().out
    assert json.loads((paths[0] / "manifest.json").read_text())["cost"]["state_bytes"] == 0


FOREST = STORED.with_name("streams.spool.lifetime")
CAPTURED = [Path(__file__).parents[3] / f"data/raw/captured/{name}.parquet" for name in ("database_test", "mail_test")]


def placed_by(model, batch):
    """The streams of the pages of all writes, one call for each."""
    rows = zip(batch.time_us.tolist(), batch.op.tolist(), batch.offset.tolist(), batch.size.tolist(), strict=True)
    return [stream for at, op, offset, size in rows if op for stream in model.place_pages(at, offset, size)]


@pytest.mark.parametrize("path", CAPTURED, ids=lambda path: path.stem)
def test_the_library_places_every_page_of_a_captured_trace_as_numpy_does(library, path):
    batch = batch_of(read_any(path))
    wanted = load(FOREST).serving().place(batch)
    assert len(np.unique(wanted)) > 2
    with open_model(FOREST) as model:
        assert placed_by(model, batch) == wanted.tolist()


def test_what_is_observed_is_the_first_page_and_moves_the_past_as_placing_does(library):
    batch = placement_data.cycle(3, 800)
    with open_model(FOREST) as one, open_model(FOREST) as other:
        for at, op, offset, size in zip(batch.time_us, batch.op, batch.offset, batch.size, strict=True):
            seen = one.observe(int(at), ("read", "write")[op], int(offset), int(size)).outputs
            placed = other.place_pages(int(at), int(offset), int(size)) if op else (-1,)
            assert seen == (float(placed[0]),)


def test_a_state_is_saved_and_goes_on_and_a_damaged_one_is_refused(library, tmp_path):
    batch = placement_data.cycle(3, 2000)
    first, second = batch.part(0, 1200), batch.part(1200, 2000)
    with open_model(FOREST) as model, open_model(FOREST) as other:
        placed_by(model, first)
        model.save(tmp_path / "state")
        wanted = placed_by(model, second)
        other.restore(tmp_path / "state")
        assert placed_by(other, second) == wanted
        (tmp_path / "state").write_bytes((tmp_path / "state").read_bytes()[:-1])
        with pytest.raises(RuntimeFault, match="state"):
            other.restore(tmp_path / "state")


@pytest.mark.parametrize("present", ["library", "no_library"])
def test_placing_pages_says_what_is_wrong_in_one_line(request, present):
    request.getfixturevalue(present)
    with open_model(FOREST) as model:
        with pytest.raises(RuntimeFault, match="pass every write to place_pages"):
            model.placement(0)
        for offset, size in ((-1, 1), (1 << 63, 1), (0, 0)):
            with pytest.raises(RuntimeFault, match=r"a write (begins at byte 0|of 0 bytes)"):
                model.place_pages(0, offset, size)
    with open_model(STORED) as model:
        offset = int(load(STORED).serving().dictionary.starts[5]) * CHUNK_BYTES
        assert model.place_pages(0, offset + 100, 2 * 8192) == (model.placement(offset),) * 3
    with open_model(ADMISSION) as model, pytest.raises(RuntimeFault, match="kind admission places no writes"):
        model.place_pages(0, 0, 1)


def test_numpy_places_alone_as_many_at_once(no_library):
    batch = placement_data.cycle(3, 200)
    assert placed_by(open_model(FOREST), batch) == load(FOREST).serving().place(batch).tolist()


def test_run_counts_the_bytes_of_each_stream_of_a_forest(library, built, capsys):
    trace = FOREST / "golden/requests.csv"
    done = run(built / "cz", "run", FOREST, trace)
    assert done.returncode == 0, done.stderr
    assert __main__.main(["run", str(FOREST), str(trace)]) == 0
    assert capsys.readouterr().out.split() == done.stdout.split()
    batch = load(FOREST).golden().requests
    rows = [line.split() for line in done.stdout.splitlines()[2:]]
    assert sum(int(row[2]) for row in rows) == int(batch.size[batch.op == 1].sum()) and len(rows) > 2
