"""The bundle of a forest of lifetimes: what it places, where it comes from, and what is said of it."""

from pathlib import Path

import numpy as np
import pytest

from cachezoo.bundles import load, verify
from cachezoo.bundles.card import inspect, render
from cachezoo.bundles.drift import drift
from cachezoo.bundles.measured import Metrics
from cachezoo.bundles.writer import write_bundle
from cachezoo.flash_drive.names import LIFETIME
from cachezoo.kernels.deaths import RECORD_BYTES
from cachezoo.models.trained import TraceUse, TrainedModel, read_trained
from cachezoo.serving.requests import batch_of, join
from cachezoo.zoo.streams import judge
from cachezoo.zoo.streams.bench import Bench
from cachezoo.zoo.streams.serve import PAGES_KEPT, state_bytes, streams_of
from tests import placement_data
from tests.bundle_data import EXPORT
from tests.unit.zoo.streams.test_pipeline import DRIVE as SMALL
from tests.unit.zoo.streams.test_pipeline import JUDGE, fitted

STORED = Path(__file__).parents[3] / "golden/protocol2/streams.spool.lifetime"
STREAMS = placement_data.FOREST_STREAMS
DRIVE = SMALL.model_copy(update={"over_provisioning": 0.4})


def test_classes_are_cut_by_prediction_and_the_longest_lived_by_address():
    predicted, address = np.array([1.0, 2.0, 2.5, 3.0, 4.0, 4.0, 4.0]), np.array([0, 0, 0, 0, 0, 8192, 16384])
    # On a cut a page is of the class below; a part begins at its start.
    assert streams_of(predicted, address, [2.0, 3.0], [8192]).tolist() == [3, 3, 2, 2, 0, 1, 1]


def test_the_bundle_places_as_the_judge_did(tmp_path):
    """Of the whole validation cycle, page by page, from the train cycle's end on as the drive lived."""
    cycles = [placement_data.trace_of(placement_data.cycle(seed)) for seed in (11, 12)]
    lifetimes = placement_data.lifetimes()
    bench = Bench.of(cycles[:1], cycles[1:], DRIVE, STREAMS)
    wanted = lifetimes.streams_of(0, bench.writes, 0, 4, 4)
    out = tmp_path / "streams.spool.lifetime"
    write_bundle(
        placement_data.write_forest(tmp_path / "model", lifetimes), placement_data.cycle(12), Metrics(), EXPORT, out
    )
    batches = [batch_of(trace) for trace in cycles]
    serving, later = load(out).serving(), batches[1].time_us + batches[0].time_us[-1]
    placed = [serving.place(batches[0])]
    again = join([batches[1]])
    placed.append(serving.place(type(again)(later, again.op, again.offset, again.size, again.volume)))
    found = np.concatenate(placed)
    # The judged drive knows no gap before a cycle's first request; the host does. Nothing else differs.
    assert len(found) == len(wanted) and (found != wanted).sum() <= int(
        bench.writes.begins[bench.writes.starts[1] :][:1].sum()
    )
    np.testing.assert_array_equal(placed[0], wanted[: len(placed[0])])


def test_what_it_remembers_is_bounded_and_said():
    manifest = load(STORED).manifest
    assert manifest["policy"]["memory"]["pages"] == PAGES_KEPT
    assert manifest["cost"]["state_bytes"] == state_bytes(PAGES_KEPT) == 32 + RECORD_BYTES * PAGES_KEPT * 21 // 16
    assert manifest["cost"]["state_bytes_per_key"] == 0 and manifest["conformance"] == {"fp64": "exact"}


def test_the_judge_ships_the_forest_where_it_writes_less_than_every_dictionary():
    cycles = [placement_data.trace_of(placement_data.cycle(seed)) for seed in (11, 12)]
    model, variants = fitted({"train": cycles[0]})
    bench = Bench.of(cycles[:1], cycles[1:], DRIVE, int(model.arch["streams"]))
    verdict, judged, shipped = judge.judge(model, variants, cycles[:1], bench, JUDGE, placement_data.lifetimes())
    forests = [row.waf for row in judged.rows if row.policy == LIFETIME]
    dictionary = next(row.waf for row in judged.rows if row.policy == judged.chosen)
    assert forests and min(forests) < dictionary, "the traces of this test"
    assert judged.shipped == verdict.calibration["variant"] == LIFETIME != judged.chosen
    assert verdict.calibration["waf"] == min(forests) and shipped.forest.startswith("tree")
    assert verdict.calibration["rival"] in judged.least and verdict.calibration["victim"] == "greedy"
    assert sum(verdict.calibration["writes_by_stream"]) == len(bench.writes) - bench.since


def test_what_the_judge_leaves_is_exported(tmp_path):
    cycles = [placement_data.trace_of(placement_data.cycle(seed)) for seed in (11, 12)]
    model, variants = fitted({"train": cycles[0]})
    bench = Bench.of(cycles[:1], cycles[1:], DRIVE, int(model.arch["streams"]))
    verdict, _, shipped = judge.judge(model, variants, cycles[:1], bench, JUDGE, placement_data.lifetimes())
    uses = [TraceUse(trace="validation", role="validation", sha256="0" * 64, licence="CC0-1.0")]
    TrainedModel.of(model.model_copy(update=dict(shipped.others)), verdict, {}, uses).write(tmp_path)
    (tmp_path / "model.lgb.txt").write_text(shipped.forest)
    out = tmp_path / "bundle" / model.model_id
    out.parent.mkdir()
    write_bundle(tmp_path, batch_of(cycles[1]), Metrics(placement_data.metrics(model.model_id)), EXPORT, out)
    assert verify(out)["branches"]["learned"] > 0
    card = (out / "card.md").read_text()
    assert verdict.reason in card and "place_pages" in card and "rival" in card


def test_drift_says_what_is_placed_and_inspect_what_it_is():
    bundle = load(STORED)
    found = drift(bundle, placement_data.cycle(12)).placed
    assert found.by_lifetime and 0 < found.other_streams < found.several_chunks < 1 and 0 < found.beyond < 1
    assert found.stream_0 == pytest.approx(found.stream_0_before)
    from rich.console import Console

    console = Console(width=200, record=True, file=open("/dev/null", "w"))
    console.print(render(inspect(STORED)))
    assert "4 classes of predicted lifetime, the longest-lived in 4 parts by address" in console.export_text()


def test_a_forest_whose_file_is_missing_is_not_shipped(tmp_path):
    folder = placement_data.write_forest(tmp_path / "model")
    (folder / "model.lgb.txt").unlink()
    assert read_trained(folder).policy["type"] == "lifetime_placement"
    with pytest.raises(Exception, match=r"model\.lgb\.txt: cannot be read"):
        write_bundle(folder, placement_data.cycle(12), Metrics(), EXPORT, tmp_path / "out")
