"""The bundle of a dictionary: its answers against a walk of all ranges, what is refused, and what is said of it."""

import json
import shutil
import struct
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.bundles import load, verify
from cachezoo.bundles.card import inspect, render
from cachezoo.bundles.drift import drift
from cachezoo.bundles.integrity import archive_bytes
from cachezoo.bundles.measured import Metrics
from cachezoo.bundles.writer import build_bundle, refusal, write_bundle
from cachezoo.coded import Coded
from cachezoo.errors import BundleError, ConfigError
from cachezoo.models.trained import TraceUse, TrainedModel, read_trained
from cachezoo.serving.requests import RequestBatch, batch_of
from cachezoo.zoo.streams import bundle as kind
from cachezoo.zoo.streams import judge
from cachezoo.zoo.streams.dictionary import CHUNK_BYTES, MOST_CHUNKS, Dictionary, StreamsServing, TableSession
from cachezoo.zoo.streams.settings import Baselines, Equal
from tests import placement_data
from tests.bundle_data import EXPORT, reseal
from tests.unit.zoo.streams.test_dictionary import DAMAGES
from tests.unit.zoo.streams.test_pipeline import JUDGE, made  # noqa: F401 - a fixture of what follows

STORED = Path(__file__).parents[3] / "golden/protocol2/streams.ledger.fios"
ADMISSION = STORED.parent / "admission.database.lgbm"


def walked(chunks, streams, offset):
    """The stream of an offset, by a walk of the chunks that were learned."""
    return {chunk: stream for chunk, stream in zip(chunks, streams, strict=True)}.get(offset // 32768, 0)


@pytest.fixture
def bundle(tmp_path):
    return Path(shutil.copytree(STORED, tmp_path / STORED.name))


@given(data=st.data())
def test_an_offset_has_the_stream_of_its_chunk(data):
    chunks = sorted(data.draw(st.sets(st.one_of(st.integers(0, 40), st.integers(0, MOST_CHUNKS - 1)), max_size=30)))
    count = data.draw(st.integers(1, 256))
    streams = [data.draw(st.integers(0, count - 1)) for _ in chunks]
    own = Dictionary.of(np.array(chunks, np.int64), np.array(streams, np.int64), count)
    serving = StreamsServing(arch={"streams": count}, session=TableSession(own))
    near = [chunk + away for chunk in (*chunks, 0, MOST_CHUNKS) for away in (-1, 0, 1) if chunk + away >= 0]
    offsets = [chunk * CHUNK_BYTES + byte for chunk in near for byte in (0, 511, CHUNK_BYTES - 1)]
    offsets += [data.draw(st.integers(0, (1 << 63) - 1)), (1 << 63) - 1]
    wanted = [walked(chunks, streams, offset) for offset in offsets]
    assert serving.placements(np.array(offsets, np.int64)).tolist() == wanted
    assert [serving.placement(offset) for offset in offsets] == wanted


@pytest.mark.parametrize("offset", [-1, 1 << 63])
def test_an_offset_that_no_write_has_is_refused(offset):
    with pytest.raises(ConfigError, match="a write begins at byte 0"):
        load(STORED).serving().placement(offset)


def test_reads_are_not_placed_and_a_write_goes_where_its_first_byte_does():
    serving = load(STORED).serving()
    cut = int(serving.dictionary.starts[5]) * CHUNK_BYTES
    op = np.array([0, 1, 1], np.uint8)
    offset, size = np.array([cut, cut - 4096, cut]), np.array([4096, 8192, 1 << 20])
    batch = RequestBatch(np.arange(3), op, offset, size, Coded.of(["sda"] * 3))
    before, after = serving.dictionary.streams[4:6]
    assert serving.decide(batch).tolist() == [-1, before, after] and before != after


def test_the_cost_is_that_of_a_search(bundle):
    report = verify(bundle)
    assert report["golden_rows"] == 250 and report["output_difference"] == 0
    manifest = load(bundle).manifest
    ranges = len(load(bundle).serving().dictionary)
    assert manifest["cost"]["comparisons"] == int(np.ceil(np.log2(ranges)))
    assert manifest["cost"]["parameters"] == 2 * ranges
    assert manifest["cost"]["model_bytes"] == (bundle / "sid.bin").stat().st_size


def test_every_edge_has_a_golden_row():
    sets = {one.folder.rpartition("/")[2]: one for one in load(STORED).golden_sets()[1:]}
    own = load(STORED).serving().dictionary
    offsets = np.concatenate([one.requests.offset for one in sets.values()])
    edges = own.starts[1:17].astype(np.int64) * CHUNK_BYTES
    for wanted in (edges, edges - 1, edges - CHUNK_BYTES, edges + CHUNK_BYTES - 1):
        assert np.isin(wanted, offsets).all()
    assert {0, kind.HIGHEST, (MOST_CHUNKS - 1) * CHUNK_BYTES, MOST_CHUNKS * CHUNK_BYTES} <= set(offsets.tolist())


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_dictionary_is_refused_in_one_line(bundle, name):
    path = bundle / "sid.bin"
    path.write_bytes(DAMAGES[name][0](path.read_bytes()))
    reseal(bundle)
    with pytest.raises(BundleError) as refused:
        load(bundle)
    assert f"{bundle}/sid.bin: " in str(refused.value) and "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda m: m["arch"].update(streams=17), "writes_by_stream has 16 numbers, arch.streams is 17"),
        (lambda m: m["geometry"].update(chunk_bytes=65536), "chunk_bytes"),
        (lambda m: m["policy"].update(unknown=1), "unknown"),
        (lambda m: m["policy"].update(volume="sda"), "volume"),
        (lambda m: m["calibration"].update(weight=1), "weight"),
        (lambda m: m.update(profile="full"), "profile"),
        (lambda m: m["golden"]["decisions"].append("more"), "golden.decisions"),
        (lambda m: m.update(kind="tables"), "kind breaks enum"),
        (lambda m: m.update(files=[one for one in m["files"] if one["path"] != "sid.bin"]), "sid.bin"),
    ],
)
def test_documents_of_no_dictionary_are_refused_in_one_line(bundle, change, problem):
    reseal(bundle, change)
    with pytest.raises(BundleError, match=problem) as refused:
        load(bundle)
    assert "\n" not in str(refused.value)


def test_another_count_of_streams_in_the_file_is_refused(bundle):
    path = bundle / "sid.bin"
    data = path.read_bytes()
    path.write_bytes(data[:12] + struct.pack("<I", 200) + data[16:])
    reseal(bundle)
    with pytest.raises(BundleError, match=r"arch\.streams is 16, sid\.bin has 200 streams"):
        load(bundle)


def test_a_dictionary_that_the_model_names_is_not_shipped_damaged(tmp_path):
    folder = placement_data.write_model(tmp_path / "model")
    (folder / "sid.bin").write_bytes(b"CZSID1\0\0")
    with pytest.raises(BundleError, match=r"sid\.bin: 8 bytes are fewer than its header's 24; fit the model again"):
        build_bundle(folder, placement_data.requests(300), Metrics(), EXPORT)
    (folder / "sid.bin").unlink()
    with pytest.raises(BundleError, match=r"sid\.bin: cannot be read"):
        build_bundle(folder, placement_data.requests(300), Metrics(), EXPORT)


def test_a_dictionary_that_sends_all_to_one_stream_is_refused_with_the_judge_s_reason(tmp_path):
    own = Dictionary.of(np.arange(9), np.zeros(9, np.int64), 4)
    trained = read_trained(placement_data.write_model(tmp_path / "model", own))
    assert refusal(trained) == f"it sends every write to stream 0, as a drive without streams does: {trained.reason}"
    assert refusal(read_trained(placement_data.write_model(tmp_path / "other"))) is None


@pytest.mark.parametrize("own", [{"chunks": 20}, {"chunks": 60_000, "streams": 256}, {"chunks": 300, "streams": 2}])
def test_dictionaries_of_any_size_pass_every_branch(tmp_path, own):
    folder = placement_data.write_model(tmp_path / "model", placement_data.dictionary(5, **own))
    out = tmp_path / "streams.ledger.fios"
    write_bundle(folder, placement_data.requests(600, 4, own["chunks"]), Metrics(), EXPORT, out)
    report = verify(out)
    assert report["synthetic_rows"] <= 1500
    packed = {str(path.relative_to(out)): path.read_bytes() for path in out.rglob("*") if path.is_file()}
    (tmp_path / "a.zip").write_bytes(archive_bytes(packed))
    assert verify(tmp_path / "a.zip")["digest"] == report["digest"]


def test_what_the_judge_leaves_is_exported_and_places_alike(made, tmp_path):  # noqa: F811
    fitted, variants, cycles, bench = made
    settings = JUDGE.model_copy(update={"baselines": Baselines(equal=Equal(streams=[4]))})
    verdict, judged, _ = judge.judge(fitted, variants, cycles["train"], bench, settings)
    own = next(one.dictionary for one in variants if one.name == judged.chosen)
    uses = [TraceUse(trace="validation", role="validation", sha256="0" * 64, licence="CC0-1.0")]
    TrainedModel.of(fitted, verdict, {}, uses).write(tmp_path)
    (tmp_path / "sid.bin").write_bytes(own.to_bytes())
    out = tmp_path / "bundle" / fitted.model_id
    out.parent.mkdir()
    requests = batch_of(cycles["validation"][0])
    write_bundle(tmp_path, requests, Metrics(placement_data.metrics(fitted.model_id)), EXPORT, out)
    report = verify(out)
    assert report["branches"]["learned"] > 0 and report["synthetic_rows"] > 0
    np.testing.assert_array_equal(
        load(out).serving().placements(requests.offset), own.look_up(requests.offset // CHUNK_BYTES)
    )
    card = (out / "card.md").read_text()
    assert verdict.reason in card and "| legacy |" in card


def drifted(bundle, offsets, size=4096):
    n = len(offsets)
    op, volume = np.ones(n, np.uint8), Coded.of(["sda"] * n)
    return drift(bundle, RequestBatch(np.arange(n), op, np.asarray(offsets), np.full(n, size), volume))


def test_drift_says_where_writes_go_beside_training():
    bundle = load(STORED)
    trained = placement_data.requests(2_000, 3)
    same = drifted(bundle, trained.offset[trained.op == 1])
    assert same.inputs[0].distance == pytest.approx(0) and same.inputs[0].verdict == "same" and same.admitted is None
    own = bundle.serving().dictionary
    counts = np.array(bundle.manifest["calibration"]["writes_by_stream"])
    assert same.placed.stream_0 == pytest.approx(same.placed.stream_0_before) == pytest.approx(counts[0] / counts.sum())
    far = int(own.starts[-1]) * CHUNK_BYTES
    gone = drifted(bundle, np.arange(40) * CHUNK_BYTES + far)
    assert gone.placed.beyond == gone.placed.stream_0 == 1 and gone.inputs[0].verdict == "drifted"
    assert gone.inputs[0].distance == pytest.approx(1 - counts[0] / counts.sum())
    cut = int(own.starts[3]) * CHUNK_BYTES
    spans = drifted(bundle, [cut - 4096, cut - 4096, cut, 0], 8192)
    assert (spans.placed.writes, spans.placed.several_chunks, spans.placed.other_streams) == (4, 0.5, 0.5)


def test_drift_without_writes_is_refused():
    bundle = load(STORED)
    batch = placement_data.requests(50)
    with pytest.raises(BundleError, match="has no writes"):
        drift(bundle, replace(batch, op=np.zeros(50, np.uint8)))


def test_inspect_says_how_many_streams_and_ranges():
    from rich.console import Console

    console = Console(width=200, record=True, file=open("/dev/null", "w"))
    console.print(render(inspect(STORED)))
    text = console.export_text()
    assert "16, " in text and "ranges of chunks of 32 KiB" in text and "training's writes by stream" in text
    assert json.loads((STORED / "model.json").read_text())["kind"] == "streams"
