"""Page accesses per second of each policy, next to libCacheSim on the same ids in the same run."""

import argparse
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import numpy as np
from peers import HASHPOWERS, PEERS, Ids, traces
from timing import least

from cachezoo.kernels.bounds.belady import belady
from cachezoo.kernels.bounds.following import next_access
from cachezoo.kernels.outcome import HIT
from cachezoo.policies.components import settle
from cachezoo.policies.registry import POLICIES
from cachezoo.policies.stream import Stream

REPEATS, WALL = 3, time.perf_counter
CAPACITY = {"zipf": 50_000, "OLTP": 18_688}
SLOW = ("lrb", "threelcache")  # they train models as they go: once is enough


def line(name: str, trace: Ids, seconds: float, misses: float, peer_id: str | None, capacity: int) -> str:
    """A row of the table; the peer at its best hash power."""
    rate = len(trace.page_ids) / seconds / 1e6
    row = f"| {name} | {rate:.1f} | {misses:.4f} |"
    if peer_id is None:
        return f"{row} | | |"
    found = [least(lambda p=power: trace.peer(peer_id, capacity, p), REPEATS, WALL) for power in HASHPOWERS]
    theirs, ratio = min(found)
    return f"{row} {len(trace.page_ids) / theirs / 1e6:.1f} | {ratio:.4f} | {theirs / seconds:.1f} |"


def table(trace: Ids, ids: list[str]) -> None:
    """Every policy over one trace."""
    capacity = CAPACITY[trace.name]
    print(f"\n{trace.name}: {len(trace.page_ids):,} accesses, {trace.n_pages:,} pages, capacity {capacity:,}\n")
    print("| policy | M accesses/s | miss ratio | libCacheSim M/s | its miss ratio | times as fast |")
    print("|---|---|---|---|---|---|")
    for policy_id in ids:
        entry = POLICIES[policy_id]
        entry.hits(trace.page_ids[:100], int(trace.page_ids[:100].max()) + 1, 10)
        seconds, outcome = least(
            lambda run=entry.hits: run(trace.page_ids, trace.n_pages, capacity),
            1 if policy_id in SLOW else REPEATS,
            WALL,
        )
        misses = 1 - float((outcome == HIT).mean())
        print(line(policy_id, trace, seconds, misses, policy_id if policy_id in PEERS else None, capacity), flush=True)
        if policy_id == "belady":
            following = next_access(trace.page_ids, trace.n_pages)
            nobody = (outcome, np.empty(0, np.int32))
            seconds, _ = least(lambda f=following, o=nobody: belady(trace.page_ids, f, capacity, *o), REPEATS, WALL)
            print(line("belady, next accesses given", trace, seconds, misses, "belady", capacity), flush=True)


def arrays(state: tuple) -> Iterator[np.ndarray]:
    """A state's arrays, those of the records that it holds too."""
    for part in state:
        if isinstance(part, np.ndarray):
            yield part
        elif isinstance(part, tuple):
            yield from arrays(part)


def state_bytes(policy_id: str, trace: Ids, capacity: int) -> int:
    """What a composition's eviction keeps, in bytes; what it reads of the stream is not counted."""
    stream = Stream.of_pages(trace.page_ids, trace.n_pages)
    eviction = POLICIES[policy_id].spec.composition().eviction
    state = eviction.make(stream, capacity, settle(policy_id, eviction.parameters, {}))
    return sum(part.nbytes for part in arrays(state) if part is not stream.page_ids and part is not stream.flags)


def memory(trace: Ids, ids: list[str]) -> None:
    """Bytes of each eviction's state for each distinct page."""
    capacity = CAPACITY[trace.name]
    print(f"\n{trace.name}: bytes of state for each of {trace.n_pages:,} distinct pages, capacity {capacity:,}\n")
    sizes = {own: state_bytes(own, trace, capacity) / trace.n_pages for own in ids
             if POLICIES[own].spec and not POLICIES[own].spec.is_follower}  # fmt: skip
    print(", ".join(f"{own} {size:.1f}" for own, size in sorted(sizes.items(), key=lambda item: item[1])))


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("policies", nargs="*", default=list(POLICIES), help="ids; all where none is given")
    parser.add_argument("--trace", action="append", choices=list(CAPACITY))
    parser.add_argument("--memory", action="store_true", help="the memory alone")
    own = parser.parse_args()
    public = os.environ.get("CACHEZOO_PUBLIC_TRACES")
    print(f"best of {REPEATS} runs in one process, one thread, compilation apart; libCacheSim at the best of hash "
          f"powers {', '.join(map(str, HASHPOWERS))}")  # fmt: skip
    if public is None:
        print("OLTP is left out: CACHEZOO_PUBLIC_TRACES is not set")
    with traces(*(own.trace or (["OLTP", "zipf"] if public else ["zipf"]))) as found:
        for trace in found:
            if not own.memory:
                table(trace, own.policies)
            memory(trace, own.policies)


if __name__ == "__main__":
    main()
