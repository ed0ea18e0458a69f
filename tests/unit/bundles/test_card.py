import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cachezoo.bundles import Coded, load
from cachezoo.serving.requests import batch_of
from cachezoo.systems.registry import SYSTEMS
from tests.baleen_data import make_trace

TRACE = make_trace(400, 9)
FLAGS = ["R", "RA", "RM", "RS"] * 100


def columns() -> dict[str, Any]:
    """What a reader of the card has: arrays, and texts as lists."""
    named = {"volume": TRACE.volume, "namespace": TRACE.volume, "user": TRACE.user}
    texts = {name: [coded.names[code] for code in coded.codes] for name, coded in named.items()} | {"flags": FLAGS}
    return {name: getattr(TRACE, name) for name in ("time_us", "op", "offset", "size")} | texts


def test_the_card_s_lines_run_and_answer(bundle_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", (bundle_dir / "card.md").read_text(), re.DOTALL)
    monkeypatch.chdir(bundle_dir.parent)
    model, batch = load(bundle_dir).serving(), batch_of(TRACE)
    given = {**columns(), "capacity_pages": 40}
    if (kind := bundle_dir.name.split(".")[0]) == "prefetch":
        rows = model.features(batch)
        given["admission"] = type("Admission", (), {"scores": lambda self, rows: rows[:, 5]})()
        wanted = {"admit": rows[:, 5] >= model.threshold, "beside": model.prefetch(rows)}
    elif kind == "admission":
        wanted = {"admit": model.decide(model.features(batch))}
    elif kind == "caching":
        wanted = {"queues": model.run(batch, batch.pages(), [model.cache(40)]).decisions[0]}
    elif kind == "reuse":
        batch = replace(batch, flags=Coded.of(FLAGS))
        wanted = {"outcome": model.run(batch, batch.pages(), 40).followed.run.outcome}
    else:
        seen = model.run(batch)
        names = ["unknown" if k == -2 else model.classes[k] for k in seen.classes]
        wanted = {"names": names, "serving": seen.of_requests(400)}
    exec(compile(code, "card.md", "exec"), given)
    for name, value in wanted.items():
        if name == "beside":
            np.testing.assert_array_equal((given[name].low, given[name].high), (value.low, value.high))
        else:
            np.testing.assert_array_equal(given[name], value)


@pytest.mark.parametrize("system", SYSTEMS.values(), ids=lambda system: system.id)
def test_the_card_s_lines_are_short_enough_to_read(system: Any) -> None:
    ask = system.bundling.card.ask
    assert max(map(len, ask.splitlines())) <= 120 and ask.endswith("\n")
