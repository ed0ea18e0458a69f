"""Counts in messages."""


def many(count: int, what: str) -> str:
    """A count of things: `1 row`, `2,000 rows`."""
    return f"{count:,} {what}{'' if count == 1 else 's'}"
