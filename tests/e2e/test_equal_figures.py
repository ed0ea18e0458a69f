"""The pipeline counts as the commands do."""

import json
from typing import Any

from cachezoo.metrics.page import PageTrace
from tests.command_line import run


def test_a_stage_s_rows_are_what_simulate_prints_of_the_trace_that_it_stored(made: Any) -> None:
    for path in sorted((made.folder / "metrics/page").glob("*.json")):
        for key, values in json.loads(path.read_text())["traces"].items():
            own = PageTrace.model_validate(values)
            stored = made.folder / f"data/requests/{path.stem}/{key}.parquet"
            asked = ("--policy", "lru", "--policy", own.best_classic, "--capacity", f"{own.capacity}p")
            for row in json.loads(run("simulate", stored, *asked, "--json").stdout)["runs"]:
                (mine,) = [one for one in own.rows if one.policy == row["policy"]]
                assert mine.hit_ratio == row["hit_ratio"] and own.warmup == row["warmup"]
