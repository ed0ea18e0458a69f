"""What is known of a page write, counted again from a list of all requests before it."""

import math

import numpy as np

UNKNOWN = -1.0


def log2_of(value):
    whole = (value + 1).bit_length() - 1
    return whole + (value + 1) / 2**whole - 1


def level(events, now, half_life):
    """Age, last lifetime, mean and heat of (when, lifetime or None) of one page, chunk or region."""
    if not events:
        return [UNKNOWN, UNKNOWN, UNKNOWN, 0.0]
    lives = [life for _, life in events if life is not None]
    mean = UNKNOWN
    for k, life in enumerate(lives):
        mean = log2_of(life) if k == 0 else 0.75 * mean + 0.25 * log2_of(life)
    heat = sum(0.5 ** (now // half_life - when // half_life) for when, _ in events)
    return [now - events[-1][0], lives[-1] if lives else UNKNOWN, mean, heat]


def naive_deaths(requests, half_life):
    """Inputs of (page numbers, gap in µs) requests, in order."""
    log, rows, now, run, end = [], [], 0, 0, None
    for numbers, gap in requests:
        run = run if end is not None and numbers[0] in (end, end + 1) else 0
        before = list(log)
        for position, number in enumerate(numbers):
            row = []
            for size in (1, 4, 128):
                row += level([(w, life) for n, w, life in before if n // size == number // size], now, half_life)
            for beside in (number - 1, number + 1):
                when = [w for n, w, _ in before if n == beside]
                row.append(now - when[-1] if when else UNKNOWN)
            zeros = 10 if number == 0 else min(10, int(math.log2(number & -number)))
            row += [len(numbers), position, run, gap, number // 128, number % 4, zeros]
            rows.append(row)
            last = [w for n, w, _ in before if n == number]
            log.append((number, now, now - last[-1] if last else None))
            now += 1
        run += len(numbers)
        end = numbers[-1]
    return np.array(rows, np.float32).reshape(now, 21)
