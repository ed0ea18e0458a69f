"""What makes libCacheSim's W-TinyLFU miss other pages than the paper's: a model of it, changed one thing at a time.

As it stands the model misses exactly as many accesses as libCacheSim 0.3.5; each further column changes one thing more.
"""

import argparse
import math
import sys
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent))

import numpy as np
from peers import PUBLIC, traces

from cachezoo.kernels.jit import njit
from cachezoo.kernels.lists import link_head, links, unlink

SHARES = (0.01, 0.05, 0.10, 0.20)
OUT, WINDOW, PROBATION, PROTECTED = range(4)
HASHES = 10
SEEDS = (0x12345678, 0x12344321)
STEPS = ("theirs", "no slot left open", "exact counts", "departures not counted", "window hits counted", "sample 10")


class Model(NamedTuple):
    """What may be changed."""

    slot: bool = True  # a hit on probation may drive a page out, when the segments do not add up to the main part
    exact: bool = False  # counts of their own for all pages
    departures: bool = True  # a page that leaves the window is counted
    window_hits: bool = False  # hits in the window are counted, and every access brings the halving nearer
    sample: int = 32


def xxh64(keys: np.ndarray, seed: int) -> np.ndarray:
    """XXH64 of each uint64 key, its low 32 bits."""
    one, two, three, four, five = (np.uint64(prime) for prime in (
        0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5,
    ))  # fmt: skip
    turn = lambda value, bits: (value << np.uint64(bits)) | (value >> np.uint64(64 - bits))  # noqa: E731
    digest = np.array([seed], np.uint64) + five + np.uint64(8)
    digest = turn(digest ^ (turn(keys * two, 31) * one), 27) * one + four
    digest = (digest ^ (digest >> np.uint64(33))) * two
    digest = (digest ^ (digest >> np.uint64(29))) * three
    return (digest ^ (digest >> np.uint64(32))).astype(np.uint32)


@njit
def place(first: int, second: int, i: int, size: int) -> int:
    """Of a key's counters, the place of number i."""
    return np.uint32(first + np.uint32(i) * second) % np.uint32(size)


@njit
def count(filters: np.ndarray, hashes: np.ndarray, own: np.ndarray, model: Model, page: int) -> int:
    """How often the page came, as far as the model knows."""
    if model.exact:
        return own[page]
    least = np.uint32(0xFFFFFFFF)
    for i in range(HASHES):
        least = min(least, filters[place(hashes[0, page], hashes[1, page], i, filters.size)])
    return np.int64(least)


@njit
def add(filters: np.ndarray, hashes: np.ndarray, own: np.ndarray, page: int) -> None:
    """The page came once more."""
    own[page] += 1
    for i in range(HASHES):
        filters[place(hashes[0, page], hashes[1, page], i, filters.size)] += 1


@njit
def move(before: np.ndarray, after: np.ndarray, where: np.ndarray, held: np.ndarray, page: int, to: int) -> None:
    """The page from its list to the head of another, or out."""
    if where[page] != OUT:
        unlink(before, after, page)
        held[where[page]] -= 1
    where[page] = to
    if to != OUT:
        link_head(before, after, where.size + to - 1, page)
        held[to] += 1


@njit
def misses(page_ids: np.ndarray, before: np.ndarray, after: np.ndarray, where: np.ndarray, hashes: np.ndarray,
           filters: np.ndarray, window: int, main: int, model: Model) -> int:  # fmt: skip
    """How many of the accesses miss."""
    n_pages, probation, protected = where.size, int(0.2 * main), int(0.8 * main)
    own, held = np.zeros(n_pages, np.int64), np.zeros(4, np.int64)
    missed = counted = 0
    for page in page_ids:
        at = where[page]
        if at == OUT:
            missed += 1
            while held.sum() == window + main:
                candidate = before[n_pages]
                rival = before[n_pages + (1 if held[PROBATION] else 2)]
                full = held[PROBATION] + held[PROTECTED] == main
                wins = count(filters, hashes, own, model, candidate) > count(filters, hashes, own, model, rival)
                if not full or wins:
                    if full:
                        move(before, after, where, held, rival, OUT)
                    room = held[PROBATION] < probation or held[PROTECTED] >= protected
                    move(before, after, where, held, candidate, PROBATION if room else PROTECTED)
                else:
                    move(before, after, where, held, candidate, OUT)
                if model.departures:
                    add(filters, hashes, own, candidate)
            move(before, after, where, held, page, WINDOW)
            add(filters, hashes, own, page)
        else:
            move(before, after, where, held, page, WINDOW if at == WINDOW else PROTECTED)
            if held[PROTECTED] > protected:
                move(before, after, where, held, before[n_pages + 2], PROBATION)
                if model.slot and held[PROBATION] > probation:
                    move(before, after, where, held, before[n_pages + 1], OUT)
            if at != WINDOW or model.window_hits:
                add(filters, hashes, own, page)
        counted += model.window_hits or at > WINDOW
        if counted == model.sample * main:
            counted = 0
            filters >>= np.uint32(1)
            own >>= 1
    return missed


def miss_ratio(page_ids: np.ndarray, n_pages: int, capacity: int, model: Model) -> float:
    """The model's, from an empty cache of at least 100 pages."""
    window = int(capacity * 0.01)
    main = capacity - window
    each = -math.log(0.001) / math.log(2) ** 2
    hashes = np.stack([xxh64(np.arange(n_pages, dtype=np.uint64), seed) for seed in SEEDS])
    filters = np.zeros(math.ceil(each * main), np.uint32)
    where = np.zeros(n_pages, np.uint8)
    return misses(page_ids, *links(n_pages, 3), where, hashes, filters, window, main, model) / len(page_ids)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trace", action="append", choices=list(PUBLIC))
    names = parser.parse_args().trace or PUBLIC
    models = [Model(), Model(slot=False)]
    models += [models[-1]._replace(exact=True)]
    models += [models[-1]._replace(departures=False)]
    models += [models[-1]._replace(window_hits=True)]
    models += [models[-1]._replace(sample=10)]
    print("| trace | capacity | libCacheSim | " + " | ".join(STEPS) + " |")
    print("|---" * (len(STEPS) + 3) + "|")
    with traces(*names) as found:
        for trace in found:
            for share in SHARES:
                capacity = round(share * trace.n_pages)
                ratios = [miss_ratio(trace.page_ids, trace.n_pages, capacity, model) for model in models]
                cells = [f"{ratio:.4f}" for ratio in (trace.peer("wtinylfu", capacity), *ratios)]
                print(f"| {trace.name} | {capacity:,} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
