"""Read disk-head time with LRU of segments and of blocks, on the validation traces.

    flash_touch.py [CATEGORY …]     needs the pipeline's requests and trained models

Milliseconds of a read, each policy in its best plain mode at the write budget, and the change by blocks.
"""

import argparse
from collections.abc import Iterator

from cachezoo import paths
from cachezoo.arrays import F64
from cachezoo.config.load import load_params
from cachezoo.flash_cache.policies import BUDGETED, Policy, baseline, choose_mode, learned, modes_of
from cachezoo.flash_cache.problem import flash_problem, label_of
from cachezoo.params import traces_of
from cachezoo.settings.params import Params
from cachezoo.training.episodes import read_traces
from cachezoo.zoo.admission.fit import model_id
from cachezoo.zoo.admission.model import load_admission
from cachezoo.zoo.admission.serve import serve_trace


def admits(scores: F64) -> Policy:
    """The model's admission by its scores of a trace."""
    return lambda problem, fetched: learned(problem, scores, fetched)


def rows(params: Params, name: str) -> Iterator[tuple[str, list[float]]]:
    """Policies and their times, by segments and by blocks."""
    label = label_of(params.label.episodes, name)
    traces = [part.trace for part in read_traces(name, traces_of(params, name, "validation"))[0]]
    scores = []
    for trace in traces:
        serving = load_admission(paths.trained(model_id(name)))[1]
        scores.append(serving.scores(serve_trace(serving, trace)))
    by_touch = []
    for touch in ("segment", "block"):
        flash = params.policy.flash.model_copy(update={"touch": touch})
        by_touch.append([flash_problem(trace, label, flash) for trace in traces])
    policies = {own: [baseline(own, params.seed, trace.meta.trace_id) for trace in traces] for own in BUDGETED}
    policies["baleen"] = [admits(own) for own in scores]
    for own, each in policies.items():
        chosen = [choose_mode(problems, each, modes_of(problems)) for problems in by_touch]
        yield own, [1e3 * choice.figures[choice.mode].mean_dt for choice in chosen]


def main() -> None:
    """Print a row for each category and policy."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("categories", nargs="*", default=["database", "fileserver", "mail", "web", "blob"])
    params = load_params()
    for name in parser.parse_args().categories:
        for policy, (segments, blocks) in rows(params, name):
            print(f"{name:10} {policy:9} {segments:9.4f} {blocks:9.4f} {blocks / segments - 1:+7.2%}", flush=True)


if __name__ == "__main__":
    main()
