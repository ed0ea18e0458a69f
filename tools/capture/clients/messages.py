"""Messages of mail: headers, and a body of words that some messages share and most do not."""

import functools
import itertools
import math
import random

HEADERS = (
    "From: sender{sender}@example.org\r\nTo: user@example.org\r\nSubject: {subject}\r\n"
    "Date: Thu, 01 Jan 1970 00:00:00 +0000\r\nMessage-ID: <{number}@example.org>\r\n\r\n"
)
LETTERS = "abcdefghijklmnopqrstuvwxyz"
WORDS = 20_000
SENDERS = 500
LINES = 8192
LINE_WORDS = 12
# A line is longer than this, or nearly so, for its words have two letters or more.
LEAST_LINE = 36


def word(rank: int) -> str:
    """The word of a rank; the most frequent are short."""
    letters = ""
    rank += len(LETTERS)
    while rank:
        rank, letter = divmod(rank, len(LETTERS))
        letters += LETTERS[letter]
    return letters


@functools.cache
def _vocabulary(words: int) -> tuple[list[str], list[float]]:
    return [word(rank) for rank in range(words)], list(itertools.accumulate(1 / (rank + 2) for rank in range(words)))


@functools.cache
def _lines(words: int) -> list[str]:
    """Lines that bodies are put together from: drawing every word on its own would take longer than the disk."""
    known, cumulative = _vocabulary(words)
    draw = random.Random(words)
    return [" ".join(draw.choices(known, cum_weights=cumulative, k=LINE_WORDS)) for _ in range(LINES)]


def message(draw: random.Random, number: int, size: int, words: int = WORDS) -> bytes:
    """A message of about a size.

    Args:
        draw: of the words.
        number: makes its identity.
        size: in bytes.
        words: of the vocabulary; their frequencies are Zipf's.
    """
    known, cumulative = _vocabulary(words)
    subject = " ".join(draw.choices(known, cum_weights=cumulative, k=5))
    head = HEADERS.format(sender=draw.randrange(SENDERS), subject=subject, number=number)
    lines = draw.choices(_lines(words), k=max(1, (size - len(head)) // LEAST_LINE))
    return (head + "\r\n".join(lines))[: max(len(head), size)].encode()


def drawn_size(draw: random.Random, kib: float, sigma: float, max_kib: int) -> int:
    """A lognormal size in bytes, at least 512.

    Args:
        draw: of the size.
        kib: median.
        sigma: of its logarithm.
        max_kib: the largest.
    """
    return int(min(max_kib * 1024, max(512.0, kib * 1024 * math.exp(draw.gauss(0.0, sigma)))))
