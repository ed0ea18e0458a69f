"""Misses of each policy next to libCacheSim's on the public traces; ends with status 1 where one is out of its limit."""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from peers import PEERS, PUBLIC, traces

from cachezoo.kernels.outcome import HIT
from cachezoo.policies.registry import OPTIMUM, POLICIES, classics

SHARES = (0.01, 0.05, 0.10, 0.20)
EXACT = ("fifo", "lru", "clock", "sieve", "s3fifo", "belady")
NEAR = {"arc": 0.3, "lirs": 0.3, "twoq": 0.3, "wtinylfu": 0.3}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trace", action="append", choices=list(PUBLIC))
    own = parser.parse_args()
    failed = []
    print("| trace | capacity | policy | miss ratio | libCacheSim | difference, points | limit |")
    print("|---|---|---|---|---|---|---|")
    with traces(*(own.trace or PUBLIC)) as found:
        for trace in found:
            for share in SHARES:
                capacity = max(1, round(share * trace.n_pages))
                misses = {}
                for policy_id in dict.fromkeys([*PEERS, *classics(), OPTIMUM]):
                    outcome = POLICIES[policy_id].hits(trace.page_ids, trace.n_pages, capacity)
                    misses[policy_id] = int((outcome != HIT).sum())
                    if policy_id not in PEERS:
                        continue
                    ours, theirs = misses[policy_id] / len(outcome), trace.peer(policy_id, capacity)
                    points = 100 * (ours - theirs)
                    limit = "equal" if policy_id in EXACT else f"{NEAR[policy_id]}" if policy_id in NEAR else ""
                    off = round(theirs * len(outcome)) != misses[policy_id] if limit == "equal" else (
                        limit != "" and abs(points) > float(limit)
                    )  # fmt: skip
                    mark = " **out**" if off else ""
                    print(f"| {trace.name} | {capacity:,} | {policy_id} | {ours:.4f} | {theirs:.4f} | {points:+.2f} | "
                          f"{limit}{mark} |", flush=True)  # fmt: skip
                    if off:
                        failed.append(f"{policy_id} on {trace.name} at {capacity:,}")
                below = [policy_id for policy_id, count in misses.items() if count < misses[OPTIMUM]]
                failed += [f"{policy_id} below {OPTIMUM} on {trace.name} at {capacity:,}" for policy_id in below]
    print(f"\nOut of limit: {', '.join(failed) or 'none'}. No policy misses less than {OPTIMUM}."
          if not any("below" in name for name in failed) else f"\nOut of limit: {', '.join(failed)}")  # fmt: skip
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
