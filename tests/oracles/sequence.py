"""Naive inputs of the caching model: every definition applied anew to everything before the request."""

import math
from dataclasses import dataclass

COMMON = ("gap", "delta", "address", "size", "op", "run", "age", "fresh", "count", "past_gap", "written", "region_age")
SIZED = ("ratio", "heat", "long_heat", "region_heat")


@dataclass(frozen=True)
class Memory:
    """What is remembered."""

    memory: int
    window: int
    region_bytes: int
    region_bits: int


def slot(offset: int, memory: Memory) -> int:
    """A region's slot, with 64-bit products by Python's integers."""
    key = (offset // memory.region_bytes + 1) * 0x9E3779B97F4A7C15 % 2**64
    return key >> (64 - memory.region_bits)


def remembered(positions: list[int], now: int, memory: int) -> list[int]:
    """The last of the positions that no gap above `memory` cuts off from `now`."""
    chain: list[int] = []
    for position in reversed(positions):
        if (chain[0] if chain else now) - position > memory:
            break
        chain.insert(0, position)
    return chain


def heat(weights: dict[int, int], chain: list[int], now: int, half_life: float) -> float:
    """Sum of what happened, halved every half-life."""
    return sum(weights.get(p, 1) * 0.5 ** ((now - p) / half_life) for p in chain)


def _plain(i: int, time: list[int], op: list[int], offset: list[int], size: list[int]) -> dict[str, float]:
    deltas = [0] + [offset[k] - offset[k - 1] - size[k - 1] for k in range(1, i + 1)]
    run = 0
    while run < i and deltas[i - run] == 0:
        run += 1
    return {
        "gap": math.log(1 + (time[i] - time[i - 1] if i else 0)),
        "delta": math.copysign(math.log2(1 + abs(deltas[i]) / 512), deltas[i]) if deltas[i] else 0.0,
        "address": offset[i] // 4096,
        "size": math.log2(size[i]),
        "op": op[i],
        "run": math.log2(1 + run),
    }


def naive_columns(
    time: list[int], op: list[int], offset: list[int], size: list[int], requests: list[list[int]],
    capacities: list[int], memory: Memory,
) -> list[tuple[dict[str, float], list[dict[str, float]]]]:  # fmt: skip
    """For each request its common columns, and a dictionary for each capacity."""
    ids = [page for request in requests for page in request]
    row = [i for i, request in enumerate(requests) for _ in request]
    start = [sum(len(request) for request in requests[:i]) for i in range(len(requests))]
    never = math.log2(1 + memory.memory)
    out = []
    for i, request in enumerate(requests):
        common = _plain(i, time, op, offset, size)
        sums = dict.fromkeys(("age", "fresh", "count", "past_gap", "written"), 0.0)
        warm = [(0.0, 0.0)] * len(capacities)
        for now, page in enumerate(request, start[i]):
            chain = remembered([p for p in range(now) if ids[p] == page], now, memory.memory)
            sums["age"] += math.log2(now - chain[-1]) if chain else never
            sums["fresh"] += not chain
            sums["count"] += math.log2(1 + len(chain))
            sums["past_gap"] += math.log2(chain[-1] - chain[-2]) if len(chain) > 1 else never
            sums["written"] += op[row[chain[-1]]] if chain else 0
            warm = [
                (a + math.log2(1 + heat({}, chain, now, c)), b + math.log2(1 + heat({}, chain, now, 8 * c)))
                for (a, b), c in zip(warm, capacities, strict=True)
            ]
        common |= {name: value / len(request) for name, value in sums.items()}
        same = [start[k] for k in range(i) if slot(offset[k], memory) == slot(offset[i], memory)]
        chain = remembered(same, start[i], memory.memory)
        common["region_age"] = math.log2(start[i] - chain[-1]) if chain else never
        touched = {start[k]: len(requests[k]) for k in range(i)}
        recent = len(set(ids[max(0, start[i] - memory.window) : start[i]]))
        sized = [
            {
                "ratio": math.log2(c / max(1, recent)),
                "heat": a / len(request),
                "long_heat": b / len(request),
                "region_heat": math.log2(1 + heat(touched, chain, start[i], c)),
            }
            for (a, b), c in zip(warm, capacities, strict=True)
        ]
        out.append((common, sized))
    return out
