"""What RC-RNN's oracles reach on the captured page traces: page hits, mean response time, and where their tags differ.

Counted over all requests from an empty cache. Validation traces by default; `--role train` has the others.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from cachezoo import paths
from cachezoo.arrays import U8
from cachezoo.config.load import load_params
from cachezoo.devices.responses import read_responses
from cachezoo.devices.service import ServiceTimes
from cachezoo.kernels.accounting import Record, account, blank
from cachezoo.kernels.outcome import ADMITTED, HIT, NONE
from cachezoo.labels.benefit import Worth, reach_of, run_of, tags_of
from cachezoo.labels.part import Part
from cachezoo.labels.tags import BELADY, COST_BELADY, Tags, teacher_names
from cachezoo.policies.stream import build_stream
from cachezoo.traces.pages import capacity_pages, percent
from cachezoo.traces.store import read_pages, read_trace


def _differs(tags: Tags, other: Tags) -> float:
    """Share of the requests of which both say whether to cache them, and one says yes, the other no."""
    both = tags.taught & other.taught
    return float((tags.cached != other.cached)[both].mean()) if both.any() else float("nan")


def table(category: str, key: str) -> None:
    """Print a trace's rows: of every capacity each oracle's."""
    params = load_params(Path("params.yaml")).label.benefit.model_copy(update={"oracle": COST_BELADY})
    trace, pages = read_trace(paths.requests(category, key)), read_pages(paths.requests(category, key))
    hdd, ssd = read_responses(paths.responses(category, key), len(trace))
    times, stream, part = (
        ServiceTimes.of(trace, hdd, ssd),
        build_stream(trace, pages),
        Part.of(trace.op, pages, hdd, ssd),
    )

    def response_us(outcome: U8) -> float:
        missing = np.zeros(len(trace), np.int64)
        done = np.where(outcome == HIT, HIT, ADMITTED).astype(np.uint8)
        nobody = np.full(len(done), NONE, np.int32)
        record = Record(stream.page_ids, stream.flags, stream.page_bytes, done, nobody)
        account(record, blank(stream.n_pages, np.zeros(1, np.int64)), 0, True, missing)
        return float(times.served(missing).mean())

    for fraction in params.capacities:
        capacity, tags, figures = capacity_pages(fraction, pages.n_pages), {}, {}
        for teacher in teacher_names(params):
            reach = reach_of(teacher, capacity, len(pages.page_ids), params)
            run = run_of(part, teacher, Worth(part, teacher, reach), capacity)
            figures[teacher] = (run.hits / len(part), response_us(run.outcome))
            tags[teacher] = tags_of(part, teacher, run, capacity, reach)  # uses the run up
        for teacher, (hits, response) in figures.items():
            against = " | ".join(
                f"{100 * _differs(tags[teacher], tags[other]):.1f} %" for other in (BELADY, "benefit_3", "benefit_10")
            )
            own = f"{100 * tags[teacher].taught.mean():.0f} %"
            row = f"{teacher} | {hits:.4f} | {response:.0f} | {own} | {against}"
            print(f"| {key}, {percent(fraction)} % | {row} |")


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--role", default="validation", choices=("train", "validation"))
    role = parser.parse_args(arguments).role
    data = load_params(Path("params.yaml")).data
    print("| trace, capacity | oracle | hits | mean µs | taught | differs from belady | benefit_3 | benefit_10 |")
    print("|---|---|---|---|---|---|---|---|")
    for category in data.page_categories:
        for key in data.roles[category][role]:
            table(category, key)


if __name__ == "__main__":
    main()
