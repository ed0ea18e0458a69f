"""Metrics keep their bytes on the way through their types, and what is none is told."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from cachezoo.documents import Document
from cachezoo.errors import CachezooError
from cachezoo.io import dump_json, read_json, write_json
from cachezoo.metrics.files import present, read, read_category, read_flash
from cachezoo.questions.share.columns import read_share
from cachezoo.questions.tiers.columns import read_tiers
from cachezoo.zoo.reuse.metrics import read_metrics as read_reuse
from cachezoo.zoo.streams.metrics import read_metrics as read_streams
from cachezoo.zoo.virtual.metrics import read_metrics as read_virtual
from cachezoo.zoo.workload.metrics import read_metrics as read_workload
from lab.carry_over.document import read_carry_over
from lab.reconfigure.document import read_reconfigured
from lab.retrained.document import read_retrained
from tests import buying_data, placement_data, split_data, virtual_data
from tests.metrics_data import (
    flash_metrics,
    flash_trace,
    page_metrics,
    page_model,
    page_trace,
    reuse_metrics,
    row,
    workload_metrics,
    write,
)

ROOT = Path(__file__).resolve().parents[3]
Reader = Callable[[Path], Document]


def made() -> dict[str, tuple[Reader, Document]]:
    """A document of each sort and each shape that it can have."""
    model = row("caching.web.lstm8", "model", 0.4, gap_closed=None, gap_closed_interval=None, dirty_evictions=None)
    figures = {"cached_rows": 7.0, "cached_mcc": None}
    traces = {"web_test": page_trace("test", model, tags={"caching.web.lstm8": figures})}
    judged = page_model({"web_test": model}, figures=figures, validation={"hit_ratio": 0.0, "loss": None})
    trace = flash_trace()
    short = trace.model_copy(update={"at_rejectx_rate": trace.deployed})
    return {
        "page": (read_category, page_metrics(traces, models={"caching.web.lstm8": judged})),
        "page without models": (read_category, page_metrics({}, None)),
        "flash": (read_flash, flash_metrics("admission.web.lgbm")),
        "flash below the budget": (read_flash, flash_metrics("admission.web.lgbm", traces={"t": short})),
        "reuse": (read_reuse, reuse_metrics("reuse.follow")),
        "share": (read_share, split_data.metrics()),
        "share of nothing": (read_share, split_data.nothing()),
        "streams": (read_streams, placement_data.metrics("streams.ledger.fios")),
        "virtual": (read_virtual, virtual_data.metrics("virtual.database.vrm")),
        "tiers": (read_tiers, buying_data.metrics()),
        "tiers of nothing": (read_tiers, buying_data.nothing()),
        "workload": (read_workload, workload_metrics("workload.lstm8")),
        "workload never trained": (read_workload, workload_metrics("workload.lstm8", trained=False)),
    }


@pytest.mark.parametrize("name", made())
def test_what_is_written_is_read_and_written_the_same(name: str, tmp_path: Path) -> None:
    reader, metrics = made()[name]
    path = tmp_path / "metrics.json"
    write(path, metrics)
    again = reader(path)
    assert again == metrics
    assert dump_json(again.model_dump(mode="json")) == path.read_text()


@pytest.mark.parametrize("path", sorted((ROOT / "metrics").rglob("*.json")), ids=lambda path: path.stem)
def test_this_project_s_metrics_keep_their_bytes(path: Path) -> None:
    folders = {
        "flash": read_flash,
        "share": read_share,
        "streams": read_streams,
        "tiers": read_tiers,
        "virtual": read_virtual,
    }
    reader = folders.get(path.parent.name, read_category)
    found = {"workload": read_workload, "reuse": read_reuse}.get(path.stem, reader)(path)
    assert dump_json(found.model_dump(mode="json")) == path.read_text()


def test_whole_numbers_and_figures_stay_what_they_are(tmp_path: Path) -> None:
    write(tmp_path / "page.json", made()["page"][1])
    values = read_json(tmp_path / "page.json")
    own = values["models"]["caching.web.lstm8"]["test"]["web_test"]
    assert isinstance(own["hits"], int) and isinstance(own["cached_rows"], float)
    assert own["cached_mcc"] is own["dirty_evictions"] is own["gap_closed"] is None
    assert own["hit_ratio_interval"] == [0.4 - 0.0123, 0.4 + 0.0123]
    write(tmp_path / "workload.json", made()["workload never trained"][1])
    assert read_json(tmp_path / "workload.json")["models"]["workload.lstm8"]["test"] == {}


@pytest.mark.parametrize("content", [[], {}, {"traces": {}}, {"traces": []}, "text", None])
@pytest.mark.parametrize(
    "reader", [read_category, read_flash, read_reuse, read_share, read_streams, read_tiers, read_workload]
)
def test_something_else_is_told_in_one_line(reader: Reader, content: object, tmp_path: Path) -> None:
    write_json(tmp_path / "other.json", content)
    said = r"other\.json: is not as `make repro` writes it \(.+\); run that again$"
    with pytest.raises(CachezooError, match=said) as told:
        reader(tmp_path / "other.json")
    assert "\n" not in str(told.value)


class Small(Document):
    size: int


def test_what_is_missing_or_damaged_is_named_with_the_command_that_makes_it(tmp_path: Path) -> None:
    path = tmp_path / "small.json"
    with pytest.raises(CachezooError, match=f"^{re.escape(str(path))}: is missing; run `git checkout`$"):
        present(path, "git checkout")
    with pytest.raises(CachezooError, match=r"is missing; run `make repro`$"):
        read(path, Small)
    with pytest.raises(CachezooError, match=r"is missing; run `make figures`$"):
        read(path, Small, "make figures")
    path.write_text('{"size": "many"}')
    with pytest.raises(CachezooError, match=r"small\.json: is not as `make figures` writes it \(size: .+\); run that"):
        read(path, Small, "make figures")
    path.write_text('{"size": 3}')
    assert read(path, Small) == Small(size=3)


@pytest.mark.parametrize("reader", [read_carry_over, read_reconfigured, read_retrained])
def test_what_lies_in_lab_is_made_by_make_figures(reader: Reader, tmp_path: Path) -> None:
    with pytest.raises(CachezooError, match=r"is missing; run `make figures`$"):
        reader(tmp_path / "none.json")
    write_json(tmp_path / "bare.json", {})
    with pytest.raises(CachezooError, match=r"bare\.json: is not as `make figures` writes it"):
        reader(tmp_path / "bare.json")


@pytest.mark.parametrize(
    ("change", "where"),
    [({"hits": 1.5}, "hits"), ({"hits": None}, "hits"), ({"hit_ratio_interval": [0.1]}, "hit_ratio_interval.1"),
     ({"hit_ratoi": 0.1}, "hit_ratoi"), ({"kind": "oracle"}, "kind")],
    ids=lambda given: given if isinstance(given, str) else "",
)  # fmt: skip
def test_a_key_that_is_wrong_is_named(change: dict[str, object], where: str, tmp_path: Path) -> None:
    values = made()["page"][1].model_dump(mode="json")
    values["traces"]["web_test"]["rows"][0].update(change)
    write_json(tmp_path / "web.json", values)
    with pytest.raises(CachezooError, match=rf"traces\.web_test\.rows\.0\.{where}"):
        read_category(tmp_path / "web.json")


def test_figures_of_a_model_are_numbers(tmp_path: Path) -> None:
    values = made()["page"][1].model_dump(mode="json")
    values["models"]["caching.web.lstm8"]["test"]["web_test"]["cached_accuracy"] = "high"
    write_json(tmp_path / "web.json", values)
    with pytest.raises(CachezooError, match="cached_accuracy"):
        read_category(tmp_path / "web.json")


def test_what_is_not_finite_is_never_written(tmp_path: Path) -> None:
    bad = row("lru", "classic", 0.3, mean_response_us=float("nan"))
    with pytest.raises(CachezooError, match="mean_response_us is NaN"):
        write(tmp_path / "web.json", page_metrics({"t": page_trace("test", bad)}))
