"""Misses of each policy next to libCacheSim's on the public traces; status 1 where one is out of its limit."""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from peers import PUBLIC, Ids, traces

from cachezoo.kernels.outcome import HIT
from cachezoo.policies.registry import OPTIMUM, classics, policy

SHARES = (0.01, 0.05, 0.10, 0.20)
# (policy, libCacheSim's name for it here, how far the miss ratios may be apart in points; 0 is equal misses, None any).
COMPARED = (
    *((own, own, 0.0) for own in ("fifo", "lru", "clock", "sieve", "s3fifo", "clock2qplus", "inlfu", "belady")),
    *((own, own, 0.3) for own in ("twoq", "arc", "lirs")),
    ("wtinylfu(sample=32, libcachesim=1)", "wtinylfu", 0.3),
    ("wtinylfu", "wtinylfu", None),
    ("cacheus", "cacheus", None),
)


def misses(policy_id: str, trace: Ids, capacity: int) -> int:
    """How often a policy misses."""
    return int((policy(policy_id).hits(trace.page_ids, trace.n_pages, capacity) != HIT).sum())


def cell(own: str, peer_id: str, limit: float | None, trace: Ids, capacity: int) -> tuple[str, bool]:
    """The miss ratio, with libCacheSim's in brackets where it is another, and whether it is within the limit."""
    count, m = misses(own, trace, capacity), len(trace.page_ids)
    theirs = trace.peer(peer_id, capacity)
    equal = round(theirs * m) == count
    well = limit is None or equal or abs(100 * (count / m - theirs)) <= limit
    return f"{count / m:.4f}{'' if equal else f' ({theirs:.4f})'}{'' if well else ' **out**'}", well


def compare(trace: Ids, capacities: list[int]) -> list[str]:
    """Print a trace's table; returns what is out of its limit, or below the optimum."""
    print(f"\n**{trace.name}**, {len(trace.page_ids):,} accesses to {trace.n_pages:,} pages\n")
    print(f"| policy | may differ by | {' | '.join(f'{capacity:,} pages' for capacity in capacities)} |")
    print("|---|---|" + "---|" * len(capacities))
    failed = []
    for own, peer_id, limit in COMPARED:
        cells = [cell(own, peer_id, limit, trace, capacity) for capacity in capacities]
        said = {None: "any", 0.0: "nothing"}.get(limit, f"{limit} points")
        print(f"| {own} | {said} | {' | '.join(text for text, _ in cells)} |", flush=True)
        failed += [f"{own} on {trace.name}"] if not all(well for _, well in cells) else []
    for capacity in capacities:
        least = misses(OPTIMUM, trace, capacity)
        failed += [f"{own} misses less than {OPTIMUM} on {trace.name} at {capacity:,}"
                   for own in [*classics(), "belady"] if misses(own, trace, capacity) < least]  # fmt: skip
    return failed


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trace", action="append", choices=list(PUBLIC))
    parser.add_argument("--share", action="append", type=float, help="capacity as a part of the distinct pages")
    given = parser.parse_args()
    failed = []
    print("Miss ratios; libCacheSim's in brackets where it does not miss exactly as often.")
    with traces(*(given.trace or PUBLIC)) as found:
        for trace in found:
            failed += compare(trace, [max(1, round(share * trace.n_pages)) for share in given.share or SHARES])
    well = f"All within their limits, and none of {len(classics())} classics misses less than {OPTIMUM}."
    print(f"\n{'; '.join(failed) or well}")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
