"""How long a disk takes for what a cache copies back to it while nobody waits."""

ACCESS_US = 8_000
"""Of a disk of 7,200 revolutions a minute, to a random place."""
PAGE_US = 27
"""Of a page at 150 MB/s."""


def copy_us(pages: int) -> int:
    """µs of so many pages that follow each other."""
    return ACCESS_US + PAGE_US * pages
