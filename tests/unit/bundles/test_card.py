import re
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import create_autospec

import numpy as np
import pytest

from cachezoo import runtime
from cachezoo.bundles import Coded, card, load
from cachezoo.runtime.model import Values
from cachezoo.serving.requests import batch_of
from cachezoo.zoo.registry import SYSTEMS
from tests.baleen_data import make_trace

HEADER = Path(__file__).parents[3] / "runtimes/c/include/cachezoo.h"
COMPILE = ["gcc", "-std=c11", "-Wall", "-Werror", "-Wno-unused-but-set-variable"]
COMPILE += ["-fsyntax-only", "-I", str(HEADER.parent), "-x", "c", "-"]
TRACE = make_trace(400, 9)
OF_PAGES = ("caching", "reuse", "virtual")  # opened for a cache of so many pages
FLAGS = ["R", "RA", "RM", "RS"] * 100


def columns() -> dict[str, Any]:
    """What a reader of the card has: arrays, and texts as lists."""
    named = {"volume": TRACE.volume, "namespace": TRACE.volume, "user": TRACE.user}
    texts = {name: [coded.names[code] for code in coded.codes] for name, coded in named.items()} | {"flags": FLAGS}
    return {name: getattr(TRACE, name) for name in ("time_us", "op", "offset", "size")} | texts


def blocks(bundle_dir: Path, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", (bundle_dir / "card.md").read_text(), re.DOTALL)


def test_the_card_s_lines_for_the_runtime_are_its_interface(bundle_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Names and arguments are those of cachezoo.runtime, whatever the library says."""
    model = create_autospec(runtime.Model, instance=True)
    model.cache.return_value = create_autospec(runtime.Cache, instance=True)
    opened = create_autospec(runtime.open, return_value=model)
    monkeypatch.setattr(runtime, "open", opened)
    cache = create_autospec(runtime.Virtual)
    monkeypatch.setattr(runtime, "Virtual", cache)
    exec(compile(blocks(bundle_dir, "python")[0], "card.md", "exec"), {})  # as pasted
    assert opened.call_args.args == (f"models/bundles/{bundle_dir.name}",)
    kind = bundle_dir.name.split(".")[0]
    if kind == "virtual":
        cache.assert_called_once_with(model, 16_384)
        cache.return_value.reference.assert_called_once_with(0)
    elif kind == "streams":
        model.placement.assert_called_once_with(0)
    elif kind in ("admission", "workload"):
        model.observe.assert_called_once_with(0, "read", 0, 4096, "sda")
    else:
        model.cache.return_value.access.assert_called_once_with(0, "read", 0, 4096, "sda")
    assert opened.call_args.kwargs == ({"capacity": 16_384} if kind in OF_PAGES else {})
    assert {"admit", "category"} <= set(Values._fields)


@pytest.mark.needs("gcc")
def test_the_card_s_lines_in_c_are_the_header_s(bundle_dir: Path) -> None:
    header = HEADER.read_text()
    (code,) = blocks(bundle_dir, "c")
    included, pasted = code.split("\n\n", 1)
    called = re.findall(r"\b(cz_\w+)\(", code)
    kind = bundle_dir.name.split(".")[0]
    least, asked = {"streams": (2, "cz_placement"), "virtual": (4, "cz_virtual_settings_of")}.get(
        kind, (4, "cz_stream_new")
    )
    assert len(called) >= least and called[:2] == ["cz_open", asked]
    assert [name for name in called if not re.search(rf"CZ_API \w[\w *]*\b{name}\(", header)] == []
    assert f'cz_open("models/bundles/{bundle_dir.name}", CZ_FP32' in code
    wrapped = f"{included}\nvoid pasted(void) {{\n{pasted}}}\n"
    checked = subprocess.run(COMPILE, input=wrapped, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr
    of_pages = kind in ("caching", "reuse")  # cz_stream_new needs it for these
    assert ("(cz_stream_options){.capacity = capacity_pages}" in code) == of_pages
    assert max(map(len, code.splitlines())) <= 120


def test_a_card_says_when_not_to_use_it_before_its_tables(bundle_dir: Path) -> None:
    text = (bundle_dir / "card.md").read_text()
    heads = re.findall(r"^## (.*)$", text, re.MULTILINE)
    assert heads == ["When not to use it", "Limits", "How to load it", "Trained on", "How well"]
    assert "- It has learned from " in text and "by seed: " in text


def test_a_card_says_whom_a_cache_is_for_by_what_an_operator_would_run() -> None:
    test = {"home_lead_points": 3.5, "setup_lead_points": 0.0, "gap_closed": 0.2}
    measured = {"evaluated": {"test": test}, "beats_baseline": True, "reason": "it won"}
    manifest: dict[str, Any] = {"kind": "reuse", "measured": measured}
    said = card._whom(manifest)
    assert said[0] == "## Whom it is for" and card.OPERATOR in said
    (lead,) = [line for line in said if line.startswith("- ")]
    assert lead.startswith("- later days of what it was trained on: ") and " by 3.5 points of hit ratio" in lead
    assert card._whom({**manifest, "measured": {**measured, "beats_baseline": False}}) == []
    assert card._whom({**manifest, "kind": "admission"}) == []
    assert card._whom({"kind": "caching", "measured": {"evaluated": {}}}) == []


def test_traces_without_a_shown_gain_are_named() -> None:
    row = {"gap_closed": -0.2, "gap_closed_interval": [-0.3, 0.1]}
    good = {"gap_closed": 0.2, "gap_closed_interval": [0.1, 0.3]}
    evaluated: dict[str, Any] = {"test": {"a": row, "b": good, "n": 3}}
    said = card._not_shown({"measured": {"evaluated": evaluated}})
    assert said == ["- On the test trace a no gain in hits on the best classic is shown: -0.2 [-0.3, 0.1]."]
    evaluated["flash"] = {"b": {"best_mean_dt_saved": 0.1, "best_mean_dt_saved_interval": [-0.1, 0.3]}}
    (flash,) = card._not_shown({"measured": {"evaluated": evaluated}})
    assert flash.startswith("- On the test trace b no saving of disk-head time on the best policy without a model")
    evaluated["flash"] = {"b": {"best_mean_dt_saved": -0.1, "best_mean_dt_saved_interval": [-0.2, 0.01]}}
    (flash,) = card._not_shown({"measured": {"evaluated": evaluated}})
    assert flash.startswith("- On the test trace b it does not pay: no saving of disk-head time")


def enter_clone(bundle_dir: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder in which the bundle lies where the card says."""
    (folder / "models/bundles").mkdir(parents=True)
    (folder / "models/bundles" / bundle_dir.name).symlink_to(bundle_dir)
    monkeypatch.chdir(folder)


def test_a_flash_model_s_card_says_what_it_is_for_and_shows_no_page_cache(bundle_dir: Path) -> None:
    text = (bundle_dir / "card.md").read_text()
    flash = bundle_dir.name.split(".")[0] == "admission"
    assert (f"cachezoo models bundle drift models/bundles/{bundle_dir.name} TRACE" in text) == flash
    assert ("cachezoo recommend --only flash TRACE --try" in text) == flash
    assert ("Calibrated for a flash cache of " in text) == flash
    assert not flash or ("Evaluated on test:" not in text and "All policies on the test trace" not in text)


def test_the_card_s_lines_run_and_answer(bundle_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, sample, code = blocks(bundle_dir, "python")
    enter_clone(bundle_dir, tmp_path, monkeypatch)
    model, batch = load(bundle_dir).serving(), batch_of(TRACE)
    given = {**columns(), "capacity_pages": 40}
    if (kind := bundle_dir.name.split(".")[0]) == "admission":
        wanted = {"admit": model.decide(model.features(batch))}
    elif kind == "caching":
        wanted = {"queues": model.run(batch, batch.pages(), [model.cache(40)]).decisions[0]}
    elif kind == "reuse":
        batch = replace(batch, flags=Coded.of(FLAGS))
        wanted = {"outcome": model.run(batch, batch.pages(), 40).followed.run.outcome}
    elif kind == "virtual":
        ran = model.run(batch.pages(), 40)
        wanted = {"hit": ran.hit, "moved": ran.moved}
    elif kind == "streams":
        wanted = {"streams": model.placements(batch.offset)}
    else:
        seen = model.run(batch)
        names = ["unknown" if k == -2 else model.classes[k] for k in seen.classes]
        wanted = {"names": names, "serving": seen.of_requests(400)}
    pasted = {"admission": given.get("admission")}
    exec(compile(sample + code, "card.md", "exec"), pasted)
    assert set(wanted) <= set(pasted)
    exec(compile(code, "card.md", "exec"), given)
    for name, value in wanted.items():
        if name == "beside":
            np.testing.assert_array_equal((given[name].low, given[name].high), (value.low, value.high))
        else:
            np.testing.assert_array_equal(given[name], value)


@pytest.mark.parametrize("system", SYSTEMS.values(), ids=lambda system: system.id)
def test_the_card_s_lines_are_short_enough_to_read(system: Any) -> None:
    words = system.bundling.card
    for code in (words.ask, words.runtime, words.native):
        assert max(map(len, code.splitlines())) <= 120 and code.endswith("\n")
