"""What `follow` reaches beside the best classic in hindsight, and page accesses a second of it and its shadows.

The floor is printed for the captured page traces of some roles, over all accesses from an empty cache. What is followed
and how was chosen by the train and validation traces; the test traces choose nothing.
"""

import argparse
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import numpy as np
from peers import Ids, traces

from cachezoo import paths
from cachezoo.config.load import load_params
from cachezoo.kernels.outcome import HIT
from cachezoo.policies.following import DEFAULT_EXPERTS, FOLLOW, follow_runs
from cachezoo.policies.registry import classics, policy
from cachezoo.policies.spec import parse
from cachezoo.policies.stream import Stream, build_stream
from cachezoo.traces.store import read_pages, read_trace

SHARES = (0.05, 0.1, 0.2)
CAPACITY = {"zipf": 50_000, "OLTP": 18_688}
ELEVEN = (*DEFAULT_EXPERTS, "arc", "wtinylfu", "cacheus")
SLACK = 0.01
REPEATS = 3


def captured(roles: Sequence[str]) -> list[tuple[str, str]]:
    """Category and key of the captured page traces of those roles, by category."""
    data = load_params(Path("params.yaml")).data
    return [
        (category, key) for category in data.page_categories for role in roles for key in data.roles[category][role]
    ]


def stream_of(category: str, key: str) -> Stream:
    """A captured trace as a write-back cache sees it."""
    path = paths.requests(category, key)
    return build_stream(read_trace(path), read_pages(path))


def floor(category: str, key: str, text: str) -> list[tuple[float, float, float]]:
    """Print a trace's rows.

    Returns:
        For each capacity the follower's hit ratio less its best expert's and less the best classic's, and the floor.
    """
    spec, stream, rows = parse(text), stream_of(category, key), []
    experts = [expert.composition() for expert in spec.eviction.experts]
    for share in SHARES:
        capacity = max(1, round(share * stream.n_pages))
        hits = {own: int((policy(own).simulate(stream, capacity).outcome == HIT).sum()) for own in classics()}
        best = max(hits, key=hits.__getitem__)
        found = follow_runs(stream, capacity, experts, dict(spec.eviction.values))
        ratio, n = float((found.run.outcome == HIT).mean()), len(stream)
        above = ratio - int(found.hits.max()) / n, ratio - hits[best] / n
        allowed = SLACK + capacity / n
        changes = np.count_nonzero(np.diff(found.leader.astype(np.int16)))
        print(
            f"| {key} | {share:.0%} | {best} {hits[best] / n:.4f} | {ratio:.4f} | {above[0]:+.4f} | {above[1]:+.4f} |"
            f" {allowed:.4f} | {changes} |",
            flush=True,
        )
        rows.append((*above, allowed))
    return rows


def floors(roles: Sequence[str], text: str) -> None:
    """The table of the captured traces, and what it comes to."""
    print(f"\n{text}, {', '.join(roles)}\n")
    print("| trace | capacity | best classic | follow | less best expert | less best classic | may lose | changes |")
    print("|---|---|---|---|---|---|---|---|")
    experts, best, allowed = np.array([row for own in captured(roles) for row in floor(*own, text)]).T
    print(f"\nless its best expert: mean {experts.mean():+.4f}, worst {experts.min():+.4f}, best {experts.max():+.4f}")
    print(f"less the best classic: mean {best.mean():+.4f}, worst {best.min():+.4f}, best {best.max():+.4f}")
    print(f"above the floor in {int((best >= -allowed).sum())} of {len(best)}; of what it may lose it loses at most "
          f"{(-best / allowed).max():.0%}")  # fmt: skip


def speed(trace: Ids, experts: Sequence[str]) -> None:
    """Millions of accesses a second of processor time, all shadows and the follower on one thread."""
    stream, capacity = Stream.of_pages(trace.page_ids, trace.n_pages), CAPACITY[trace.name]
    cut = Stream.of_pages(np.zeros(1, np.int32), 1)
    compositions = [parse(text).composition() for text in experts]
    follow_runs(cut, 1, compositions)
    taken = []
    for _ in range(REPEATS):
        start = time.process_time()
        found = follow_runs(stream, capacity, compositions)
        taken.append(time.process_time() - start)
    ratio = float((found.run.outcome == HIT).mean())
    print(f"| {trace.name} | {len(experts)} | {len(stream) / min(taken) / 1e6:.2f} | {ratio:.4f} |"
          f" {found.hits.max() / len(stream):.4f} |", flush=True)  # fmt: skip


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--policy", default=FOLLOW.id, help="a follower, as the command line takes it")
    parser.add_argument("--role", action="append", choices=["train", "validation", "test"])
    parser.add_argument("--speed", action="store_true", help="the speed alone")
    own = parser.parse_args()
    if not own.speed:
        floors(own.role or ["train", "validation"], own.policy)
    public = "CACHEZOO_PUBLIC_TRACES" in os.environ
    print("\n| trace | experts | M accesses a second | hit ratio | best expert |\n|---|---|---|---|---|")
    with traces(*(("OLTP", "zipf") if public else ("zipf",))) as found:
        for trace in found:
            for experts in (DEFAULT_EXPERTS, ELEVEN):
                speed(trace, experts)


if __name__ == "__main__":
    main()
