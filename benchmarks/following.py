"""What `follow` reaches beside the best classic in hindsight, and page accesses a second of it and its shadows.

The floor is printed for the captured page traces of some roles, over all accesses from an empty cache. What is followed
and how was chosen by the train and validation traces; the test traces choose nothing.

`--samples` puts sampled shadows beside full ones: how wrong a shadow's hit ratio is, by policy and rate, and what the
follower reaches and takes, over several draws of the pages. `--guard` says how well one classic guards another, good or
bad, on all train traces, the corpus's too.
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
from cachezoo.policies.engine import simulate
from cachezoo.policies.following import DEFAULT_EXPERTS, FOLLOW, LEAST_SHADOW, follow_runs
from cachezoo.policies.registry import classics, policy
from cachezoo.policies.sampling import sample
from cachezoo.policies.spec import parse
from cachezoo.policies.stream import Stream, build_stream
from cachezoo.traces.store import read_pages, read_trace

SHARES = (0.05, 0.1, 0.2)
CAPACITY = {"zipf": 50_000, "OLTP": 18_688}
ELEVEN = (*DEFAULT_EXPERTS, "arc", "wtinylfu", "cacheus")
SLACK = 0.01
REPEATS = 3
RATES = (1, 1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 32, 1 / 64)
DRAWS = 4  # samples at each rate
SHARE = 0.1
SPEED_RATES = (1, 1 / 4, 1 / 16, 1 / 64)
FIRST = ("fifo", "lru", "lfu", "arc", "azor", "lirs", "reca", "twoq", "hystor", "rejectx")
GUARD = "wtinylfu"
BAD = 0.01  # hit ratio by which the guard is better


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


def errors(name: str, streams: Sequence[Stream], rate: float) -> list[list[float]]:
    """Hit ratio of a classic's shadow less the full one's, by trace and draw, at 10 % of the pages."""
    composition, found = parse(name).composition(), []
    for stream in streams:
        capacity = round(SHARE * stream.n_pages)
        full = float((simulate(composition, stream, capacity).outcome == HIT).mean())
        parts = [sample(stream, rate, seed).stream for seed in range(DRAWS)]
        runs = [simulate(composition, part, round(capacity * rate)) for part in parts]
        found.append([float((run.outcome == HIT).mean()) - full for run in runs])
    return found


def error_table(streams: Sequence[Stream]) -> None:
    """How wrong sampled shadows are: mean, root of the mean square, and the spread over draws of a trace alone."""
    rates = [rate for rate in RATES if rate < 1]
    print(f"\nHit ratio of a sampled shadow less the full one's, {len(streams)} traces, {DRAWS} draws: bias, "
          "root mean square error (of this the spread over draws)\n")  # fmt: skip
    print("| classic | " + " | ".join(f"1/{round(1 / rate)}" for rate in rates) + " |")
    print("|---|" + "---|" * len(rates))
    for name in classics():
        cells = []
        for rate in rates:
            error = np.array(errors(name, streams, rate))
            spread = np.sqrt(error.var(axis=1, ddof=1).mean())
            cells.append(f"{error.mean():+.4f}, {np.sqrt((error**2).mean()):.4f} ({spread:.4f})")
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


def followed_at(streams: Sequence[Stream], best: dict[tuple[int, float], float], rate: float) -> str:
    """The follower's row at one rate: less the best classic, changes of leader, processor time."""
    experts, values = [parse(text).composition() for text in DEFAULT_EXPERTS], {"sample": rate}
    above, changes, taken, accesses = [], [], 0.0, 0
    for (place, share), ratio in best.items():
        stream = streams[place]
        capacity, own = round(share * stream.n_pages), []
        for seed in range(DRAWS if rate < 1 else 1):
            start = time.process_time()
            found = follow_runs(stream, capacity, experts, {**values, "seed": seed})
            taken, accesses = taken + time.process_time() - start, accesses + len(stream)
            own.append(float((found.run.outcome == HIT).mean()) - ratio)
            changes.append(np.count_nonzero(np.diff(found.leader.astype(np.int16))))
        above.append(own)
    less = np.array(above)
    spread = np.sqrt(less.var(axis=1, ddof=1).mean()) if rate < 1 else 0.0
    return (f"| 1/{round(1 / rate)} | {less.mean():+.4f} | {less.min():+.4f} | {spread:.4f} | {np.mean(changes):.1f} |"
            f" {taken / accesses * 1e6:.2f} |")  # fmt: skip


def samples(roles: Sequence[str]) -> None:
    """Full and sampled shadows side by side."""
    streams = [stream_of(*own) for own in captured(roles)]
    for text in (FOLLOW.id, f"{FOLLOW.id}(sample=0.5)"):
        policy(text).compile()
    print("\nfollow, hit ratio less the best classic's at " + ", ".join(f"{share:.0%}" for share in SHARES) + "\n")
    print("| sample | mean | worst | spread over draws | changes | us an access |\n|---|---|---|---|---|---|")
    best = {
        (place, share): max(
            float((policy(name).simulate(stream, round(share * stream.n_pages)).outcome == HIT).mean())
            for name in classics()
        )
        for place, stream in enumerate(streams) for share in SHARES
    }  # fmt: skip
    for rate in RATES:
        if all(round(round(share * streams[place].n_pages) * rate) >= LEAST_SHADOW for place, share in best):
            print(followed_at(streams, best, rate), flush=True)
    error_table(streams)


def corpus_streams() -> list[Stream]:
    """All train traces, the corpus's too."""
    data, found = load_params(Path("params.yaml")).data, [stream_of(*own) for own in captured(["train"])]
    for category in data.page_categories:
        for key, row in sorted(data.corpus.get(category, {}).items()):
            if row.role == "train":
                path = paths.corpus(category) / f"{key}.parquet"
                found.append(build_stream(read_trace(path), read_pages(path)))
    return found


def guard(values: str) -> None:
    """How a classic fares with another beside it: less the better of the two in hindsight."""
    rows = []
    for stream in corpus_streams():
        capacity = round(SHARE * stream.n_pages)
        floor = SLACK + capacity / len(stream)
        for first in FIRST:
            spec = parse(f"follow(experts={first}|{GUARD}{', ' * bool(values)}{values})")
            experts = [expert.composition() for expert in spec.eviction.experts]
            found = follow_runs(stream, capacity, experts, dict(spec.eviction.values))
            one, other = (found.hits / len(stream)).tolist()
            rows.append((float((found.run.outcome == HIT).mean()), one, other, floor))
    ratio, one, other, floors = np.array(rows).T
    less, bad, good = ratio - np.maximum(one, other), other - one > BAD, one > other
    print(f"| {values or 'default'} | {less.mean():+.4f} | {less.min():+.4f} | {int((less < -floors).sum())} of"
          f" {len(less)} | {(ratio - one)[bad].sum() / (other - one)[bad].sum():.0%} ({int(bad.sum())}) |"
          f" {less[good].mean():+.4f} ({int(good.sum())}) |", flush=True)  # fmt: skip


def speed(trace: Ids, experts: Sequence[str], rate: float) -> None:
    """Millions of accesses a second of processor time, all shadows and the follower on one thread."""
    stream, capacity = Stream.of_pages(trace.page_ids, trace.n_pages), CAPACITY[trace.name]
    cut = Stream.of_pages(np.zeros(1, np.int32), 1)
    compositions = [parse(text).composition() for text in experts]
    follow_runs(cut, 1, compositions)
    taken = []
    for _ in range(REPEATS):
        start = time.process_time()
        found = follow_runs(stream, capacity, compositions, {"sample": rate})
        taken.append(time.process_time() - start)
    ratio = float((found.run.outcome == HIT).mean())
    took = min(taken) / len(stream) * 1e6
    print(f"| {trace.name} | {len(experts)} | 1/{round(1 / rate)} | {1 / took:.2f} | {took:.3f} | {ratio:.4f} |"
          f" {found.hits.max() / found.measured:.4f} |", flush=True)  # fmt: skip


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--policy", default=FOLLOW.id, help="a follower, as the command line takes it")
    parser.add_argument("--role", action="append", choices=["train", "validation", "test"])
    parser.add_argument("--speed", action="store_true", help="the speed alone")
    parser.add_argument("--samples", action="store_true", help="full and sampled shadows alone")
    parser.add_argument("--guard", action="append", metavar="VALUES", help="a classic's guard alone, e.g. 'price=0.2'")
    own = parser.parse_args()
    roles = own.role or ["train", "validation"]
    if own.samples:
        samples(roles)
        return
    if own.guard is not None:
        print("| values | mean | worst | below the floor | of what the guard is better, won | first is better |")
        print("|---|---|---|---|---|---|")
        for values in own.guard:
            guard(values)
        return
    if not own.speed:
        floors(roles, own.policy)
    public = "CACHEZOO_PUBLIC_TRACES" in os.environ
    print("\n| trace | experts | sample | M accesses a second | us an access | hit ratio | best shadow |")
    print("|---|---|---|---|---|---|---|")
    with traces(*(("OLTP", "zipf") if public else ("zipf",))) as found:
        for trace in found:
            for experts in (DEFAULT_EXPERTS, ELEVEN):
                for rate in SPEED_RATES:
                    speed(trace, experts, rate)


if __name__ == "__main__":
    main()
