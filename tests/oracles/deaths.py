"""What is known of a page write, counted again from a list of all requests before it."""

import math

import numpy as np

UNKNOWN, MOST, ONE_LOG = -1, 1 << 24, 1 << 16


def log2_of(value):
    """In 1/65536, a straight line between powers of two, rounded down."""
    whole = (value + 1).bit_length() - 1
    return whole * ONE_LOG + (value + 1) * ONE_LOG // 2**whole - ONE_LOG


class Memory:
    """Which numbers are remembered: in sets of four, of which the one that was written longest ago goes."""

    def __init__(self, places):
        self.sets = places // 4
        self.kept = {}

    def _set(self, number):
        high = number // self.sets % 2**31
        return self.kept.setdefault((number + high * 0x9E3779B1) % self.sets, [])

    def holds(self, number):
        return number in self._set(number)

    def write(self, number):
        """Returns whether the number was remembered."""
        own = self._set(number)
        known = number in own
        if known:
            own.remove(number)
        elif len(own) == 4:
            own.pop(0)
        own.append(number)
        return known


def level(events, now, half_life):
    """Age, last lifetime, mean and heat of (when, lifetime or None) of one page, chunk or region, oldest first."""
    if not events:
        return [UNKNOWN, UNKNOWN, UNKNOWN, 0]
    lives = [life for _, life in events if life is not None]
    mean = UNKNOWN
    for k, life in enumerate(lives):
        mean = log2_of(life) if k == 0 else (3 * mean + log2_of(life)) // 4
    heat, last = 0, events[0][0]
    for when, _ in events:
        heat, last = heat // 2 ** min(31, when // half_life - last // half_life) + 256, when
    heat //= 2 ** min(31, now // half_life - last // half_life)
    return [min(MOST, now - last), lives[-1] if lives else UNKNOWN, mean, heat]


def naive_deaths(requests, half_life, pages=1 << 20):
    """Inputs of (page numbers, gap in µs) requests, in order, of a memory of so many pages."""
    memories = {1: Memory(pages), 4: Memory(pages // 4), 128: Memory(pages // 16)}
    logs = {size: {} for size in memories}
    rows, now, run, end = [], 0, 0, None
    for numbers, gap in requests:
        run = run if end is not None and numbers[0] in (end, end + 1) else 0
        for position, number in enumerate(numbers):
            row = []
            for size, memory in memories.items():
                known = memory.holds(number // size)
                row += level(logs[size].get(number // size, []) if known else [], now + position, half_life)
            for beside in (number - 1, number + 1):
                events = logs[1].get(beside, []) if memories[1].holds(beside) else []
                row.append(min(MOST, now + position - events[-1][0]) if events else UNKNOWN)
            zeros = 10 if number == 0 else min(10, int(math.log2(number & -number)))
            row += [len(numbers), position, run, min(gap, MOST), min(number // 128, MOST), number % 4, zeros]
            rows.append(row)
        for number in numbers:
            life = min(MOST, now - logs[1][number][-1][0]) if memories[1].holds(number) else None
            for size, memory in memories.items():
                if not memory.write(number // size):
                    logs[size][number // size] = []
                logs[size][number // size].append((now, life))
            now += 1
        run += len(numbers)
        end = numbers[-1]
    return np.array(rows, np.float64).reshape(now, 21)
