from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cachezoo.features.sequence import COMMON_NAMES, Columns
from cachezoo.features.table import trace_columns
from cachezoo.io import read_json
from cachezoo.labels.benefit import label_trace
from cachezoo.settings.page_cache import BenefitLabel
from cachezoo.traces.pages import capacity_pages, expand_pages
from cachezoo.traces.table import PAGE_BYTES, Trace
from cachezoo.training.fitted import write_networks
from cachezoo.zoo.caching.fit import Change, FitTrace, changed, drawn_changes, fit_prepared
from cachezoo.zoo.caching.settings import Augment
from tests.page_data import seeded_trace, service_times
from tests.rcrnn_data import FIT, make_part, make_trace

SIZES = seeded_trace(400, 100, 6)
# Whole pages, and a range of addresses whose capacities double exactly.
TRACE = replace(SIZES, offset=SIZES.offset // PAGE_BYTES * PAGE_BYTES, size=-(-SIZES.size // PAGE_BYTES) * PAGE_BYTES)
LABEL = BenefitLabel(oracle="cost_belady", horizons=[1, 3], capacities=[0.1, 0.2])
OPTIONS = Augment(copies=3, offset_spans=1.0, rate_octaves=3.0, size_octaves=1.0)
ONE_EPOCH = replace(FIT, fit=FIT.fit.model_copy(update={"max_epochs": 1}))


def columns_of(trace: Trace) -> Columns:
    pages = expand_pages(trace)
    return trace_columns(
        trace, pages, FIT.features, [capacity_pages(fraction, pages.n_pages) for fraction in (0.1, 0.2)]
    )


def tags_of(trace: Trace) -> dict[tuple[str, int], np.ndarray]:
    times = service_times(len(trace), 9)
    return {key: own.bits for key, own in label_trace(trace, expand_pages(trace), *times, LABEL).tags.items()}


@pytest.mark.parametrize(
    ("other", "change"),
    [
        (replace(TRACE, offset=TRACE.offset + 50 * PAGE_BYTES), Change(50, 1.0, 1.0)),
        (replace(TRACE, time_us=TRACE.time_us * 4), Change(0, 4.0, 1.0)),
        (replace(TRACE, offset=2 * TRACE.offset, size=2 * TRACE.size), Change(0, 1.0, 2.0)),
    ],
)
def test_a_change_is_what_the_changed_trace_has_and_its_tags_are_the_same(other: Trace, change: Change) -> None:
    got, expected = changed(columns_of(TRACE), change), columns_of(other)
    for name in ("gap", "delta", "address", "size", "op", "run"):
        place = COMMON_NAMES.index(name)
        np.testing.assert_allclose(got.common[:, place], expected.common[:, place], rtol=1e-5, atol=1e-5, err_msg=name)
    for key, bits in tags_of(TRACE).items():
        np.testing.assert_array_equal(bits, tags_of(other)[key], str(key))


def test_other_inputs_stay() -> None:
    columns = columns_of(TRACE)
    got = changed(columns, Change(7, 3.0, 1.5))
    for place, name in enumerate(COMMON_NAMES):
        same = got.common[:, place].tobytes() == columns.common[:, place].tobytes()
        assert same == (name not in ("gap", "delta", "address", "size")), name
    assert got.sized is columns.sized and got.capacities is columns.capacities
    np.testing.assert_allclose(changed(columns, Change(0, 1.0, 1.0)).common, columns.common, rtol=1e-6, atol=1e-6)


def test_changes_hang_on_seed_category_trace_and_copy_and_stay_within_their_bounds() -> None:
    columns = columns_of(TRACE)
    made = drawn_changes(columns, OPTIONS, 1, "web", "one")
    assert made == drawn_changes(columns, OPTIONS, 1, "web", "one") and len(set(made)) == 3
    assert made[:2] == drawn_changes(columns, OPTIONS.model_copy(update={"copies": 2}), 1, "web", "one")
    for other in ((2, "web", "one"), (1, "mail", "one"), (1, "web", "two")):
        assert not set(made) & set(drawn_changes(columns, OPTIONS, *other))
    span = (TRACE.offset.max() - TRACE.offset.min()) // PAGE_BYTES
    many = drawn_changes(columns, OPTIONS.model_copy(update={"copies": 100}), 1, "web", "one")
    for values, bound in (
        ([own.pages / span for own in many], 1.0),
        ([np.log2(own.rate) for own in many], 3.0),
        ([np.log2(own.size) for own in many], 1.0),
    ):
        assert -bound <= min(values) < -bound / 2 and bound / 2 < max(values) <= bound
    still = OPTIONS.model_copy(update={"offset_spans": 0.0, "rate_octaves": 0.0, "size_octaves": 0.0})
    assert drawn_changes(columns, still, 1, "web", "one") == [Change(0, 1.0, 1.0)] * 3


@pytest.fixture(scope="module")
def part(tmp_path_factory: pytest.TempPathFactory) -> FitTrace:
    return make_part(make_trace(1500, 1, "train"), tmp_path_factory.mktemp("part"))


def _fit(part: FitTrace, folder: Path, **changes: Any) -> Path:
    augment = ONE_EPOCH.fit.augment.model_copy(update=changes)
    settings = replace(ONE_EPOCH, fit=ONE_EPOCH.fit.model_copy(update={"augment": augment}))
    write_networks(folder, *fit_prepared("database", [part], [part], settings, {}))
    return folder


def test_copies_are_learned_from_alike_in_every_run_and_without_them_nothing_changes(
    part: FitTrace, tmp_path: Path
) -> None:
    made = {
        name: _fit(part, tmp_path / name, **changes)
        for name, changes in {
            "off": {"copies": 0},
            "off too": {"copies": 0, "rate_octaves": 1.0, "offset_spans": 0.0},
            "one": {"copies": 2},
            "two": {"copies": 2},
        }.items()
    }
    held = {name: {path.name: path.read_bytes() for path in folder.rglob("*.*")} for name, folder in made.items()}
    assert held["off"] == held["off too"] and held["one"] == held["two"]
    assert held["off"]["weights.safetensors"] != held["one"]["weights.safetensors"]
    said = [read_json(made[name] / "fit.json") for name in ("off", "one")]
    rows, ranges = [own["figures"]["rows"] for own in said], [own["learned"]["ranges"] for own in said]
    assert rows[1] == 3 * rows[0]
    assert ranges[1]["gap"][1] > ranges[0]["gap"][1] and ranges[1]["size"] != ranges[0]["size"]
    assert ranges[1]["age"] == ranges[0]["age"]
