"""Pages drawn by a hash, in plain Python integers."""

MASK = 2**64 - 1


def mixed(z):
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB & MASK
    return (z ^ (z >> 31)) >> 11


def groups(n_pages, rate, count, start):
    """Of each page 0, or the group from 1 on that it is dealt to."""
    out = []
    for page in range(n_pages):
        place = mixed((start + page * 0x9E3779B97F4A7C15) & MASK) / (rate * 2.0**53)
        out.append(1 + int(place * count) if place < 1 else 0)
    return out


def accesses(pages, group):
    """Rows of the accesses to drawn pages, and these pages numbered by their ids."""
    number = {page: k for k, page in enumerate(page for page, own in enumerate(group) if own)}
    rows = [row for row, page in enumerate(pages) if group[page]]
    return rows, [number[pages[row]] for row in rows]
