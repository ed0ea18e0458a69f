"""An exclusive SSD whose policy knows no removal: page reads found on it, by what becomes of a page that moves up.

Beside what `cachezoo.tiers` does (it removes where the policy can, else a dead copy stays under the page's own id) it
prints dead copies of the policies that could remove, a fresh id at each removal, and own ids of which the policy is
told when the page is found. RAM is an LRU of 5 % of the pages. ADR 36 draws on it.
"""

import argparse
import os
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

import numpy as np
from peers import PUBLIC
from tiers import RAM, drawn

from cachezoo.kernels.jit import specialise
from cachezoo.kernels.outcome import NONE, REFUSED
from cachezoo.kernels.tiers import DISK, OFFER, PEEK, SSD, TAKE
from cachezoo.policies.components import Eviction, settle
from cachezoo.policies.spec import EVICTION
from cachezoo.tiers.evictions import REMOVING
from cachezoo.tiers.hierarchy import parse_hierarchy
from cachezoo.tiers.run import Questions, counts, questions, run_tiers
from cachezoo.tiers.stream import TierStream, tier_stream
from cachezoo.traces.read import read_any

POLICIES = ("lru", "fifo", "lfu", "inlfu", "arc", "twoq", "s3fifo", "sieve", "lirs", "wtinylfu")
SHARES = (0.1, 0.2)


def has(state: Any, page: int) -> bool:  # noqa: ANN401 - each policy's own
    """Bound to the policy's."""
    raise NotImplementedError


def touch(state: Any, page: int, k: int) -> None:  # noqa: ANN401
    """Bound to the policy's."""
    raise NotImplementedError


def insert(state: Any, page: int, k: int) -> int:  # noqa: ANN401
    """Bound to the policy's."""
    raise NotImplementedError


def serve(asked: Any, state: Any, tier: Any, live: Any, name: Any, fresh: bool, at_hit: bool) -> None:  # noqa: ANN401
    """As `cachezoo.kernels.tiers.serve` where nothing is refused and nothing removed.

    Args:
        asked: the questions.
        state: the policy's.
        tier: written as there.
        live: by id, 1 where it can be served.
        name: int32[n_pages] the page's id at present.
        fresh: a page that is removed has another id from then on.
        at_hit: the policy is told of a use when the page is found, and not when it is offered again.
    """
    ids = name.size
    for k in range(asked.code.size):
        code, page = asked.code[k], asked.page[k]
        own = name[page]
        if code == OFFER:
            left = NONE
            if not has(state, own):
                left = insert(state, own, k)
            elif not at_hit:
                touch(state, own, k)
            if left != REFUSED:
                if left != NONE:
                    live[left] = 0
                live[own] = 1
        elif live[own]:
            if tier[asked.at[k]] == DISK:
                tier[asked.at[k]] = SSD
            if code == PEEK or (code == TAKE and at_hit):
                touch(state, own, k)
            if code != PEEK:
                live[own] = 0
                if fresh:
                    name[page] = ids
                    ids += 1


def found_by(loop: Callable[..., None], eviction: Eviction, ts: TierStream, asked: Questions, ssd: int,
             fresh: bool, at_hit: bool) -> float:  # fmt: skip
    """Part of the page reads that found their page on the SSD."""
    ids = ts.stream.n_pages + fresh * int((asked.asked.code == OFFER).sum())
    state = eviction.make(replace(asked.stream, n_pages=ids), ssd, settle(eviction.id, eviction.parameters, {}))
    tier, name = asked.tier.copy(), np.arange(ts.stream.n_pages, dtype=np.int32)
    loop(asked.asked, state, tier, np.zeros(ids, np.uint8), name, fresh, at_hit)
    return float((tier[~ts.write] == SSD).mean())


def table(name: str, ts: TierStream) -> None:
    """Every policy on SSDs of some sizes."""
    ram = round(RAM * ts.stream.n_pages)
    hierarchy = parse_hierarchy("lru | lru")
    asked = questions(hierarchy, ts, hierarchy.ram_policy().simulate(ts.stream, ram))
    for share in SHARES:
        ssd = round(share * ts.stream.n_pages)
        for policy in POLICIES:
            eviction = EVICTION[policy]
            loop = specialise(serve, f"dead_{policy}", has=eviction.has, touch=eviction.touch, insert=eviction.insert)
            run = run_tiers(parse_hierarchy(f"lru | {policy}"), ts, ram, ssd, asked=asked)
            removes = f"{counts(run, ts).shr:.4f}" if policy in REMOVING else ""
            own, fresh, at_hit = (
                found_by(loop, eviction, ts, asked, ssd, *how) for how in ((False, False), (True, False), (False, True))
            )
            print(
                f"| {name}, {share:.0%} | {policy} | {removes} | {own:.4f} | {fresh:.4f} | {at_hit:.4f} |", flush=True
            )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.parse_args()
    public = os.environ.get("CACHEZOO_PUBLIC_TRACES")
    print("| trace, SSD | policy | removes | own id | fresh id | at the hit |\n|---|---|---|---|---|---|")
    table("zipf", drawn())
    for name in ("OLTP", "cloudphysics"):
        if public is None:
            print(f"{name} is left out: CACHEZOO_PUBLIC_TRACES is not set")
        else:
            table(name, tier_stream(read_any(Path(public) / PUBLIC[name])))


if __name__ == "__main__":
    main()
