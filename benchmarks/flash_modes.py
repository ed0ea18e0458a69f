"""Read disk-head time of the flash cache's baselines and of OPT in each prefetch mode, all at the write budget."""

import argparse
from collections.abc import Iterator
from pathlib import Path

from cachezoo.config.load import load_params
from cachezoo.flash_cache.load import load_curve, load_windows
from cachezoo.flash_cache.policies import BASELINES, WITH_EVICTIONS, baseline, modes_of, prefetch_of
from cachezoo.flash_cache.problem import FlashProblem, flash_problem, label_of
from cachezoo.kernels.flash import FlashRun
from cachezoo.labels.episodes import OPT_MODES, label_problem
from cachezoo.settings.flash import EpisodeLabel
from cachezoo.traces.clock import time_scale
from cachezoo.traces.read import read_any


def runs(problem: FlashProblem, label: EpisodeLabel, seed: int, trace_id: str) -> Iterator[tuple[str, str, FlashRun]]:
    """(policy, mode, run): each baseline in each eviction and mode at the budget; then OPT at an age of its own."""
    for name in (*BASELINES, *WITH_EVICTIONS):
        policy = baseline(name, seed, trace_id)
        for mode in modes_of([problem]):
            yield name, mode, policy(problem, prefetch_of(problem, mode)).run
    for mode in OPT_MODES:
        yield "opt", mode, label_problem(problem, label, mode).choice.run


def main() -> None:
    """Print a table for each trace."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("traces", nargs="+", type=Path, help="traces of any format that is recognised")
    paths = parser.parse_args().traces
    params = load_params()
    flash = params.policy.flash
    for path in paths:
        trace = read_any(path)
        label = label_of(params.label.episodes, trace.meta.category)
        problem = flash_problem(trace, label, flash)
        windows = load_windows(trace.time_us, problem, flash, time_scale(trace))
        print(
            f"{path}: {len(problem):,} requests, {int(problem.read.sum()):,} reads, "
            f"{len(trace.volume.names)} volumes, blocks of {label.block_bytes >> 10} KiB, "
            f"cache of {problem.capacity:,} segments, budget {label.write_budget:.0%} of AcceptAll's writes"
        )
        print(f"{'policy':<24}{'prefetch':<16}{'mean DT s/s':>12}{'peak':>9}{'writes':>9}{'prefetched':>12}{'used':>7}")
        for policy, mode, run in runs(problem, label, params.seed, trace.meta.trace_id):
            curve, prefetched = load_curve(problem.dt_seconds(run), windows), int(run.prefetched.sum())
            used = f"{run.prefetched_used / prefetched:>6.0%}" if prefetched else "-"
            writes = run.segment_writes / problem.accept_all.segment_writes
            print(
                f"{policy:<24}{mode:<16}{curve.mean():>12.4f}{curve.max():>9.4f}{writes:>9.3f}{prefetched:>12,}{used:>7}",
                flush=True,
            )


if __name__ == "__main__":
    main()
