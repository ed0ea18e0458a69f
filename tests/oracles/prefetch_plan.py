"""Prefetch plans and their streams, naively: requests as dicts, page by page."""

PAGE = 4096


def own_pages(request):
    return list(range(request["offset"] // PAGE, (request["offset"] + request["size"] - 1) // PAGE + 1))


def next_pages(requests, n):
    """(volume, page) that each request fetches."""
    return [
        [(one["volume"], own_pages(one)[-1] + k) for k in range(1, n + 1)] if one["op"] == 0 else [] for one in requests
    ]


def range_pages(requests, low, high, block_bytes, segment_bytes):
    """(volume, page) of the segments [low, high) of each read's first block, but those it asks for itself."""
    planned = []
    for one, begin, end in zip(requests, low, high, strict=True):
        pages = []
        block = one["offset"] // block_bytes * block_bytes
        for segment in range(begin, end):
            first = block + segment * segment_bytes
            for byte in range(first, first + segment_bytes, min(PAGE, segment_bytes)):
                page = byte // PAGE
                if one["op"] == 0 and page not in own_pages(one) and page not in pages:
                    pages.append(page)
        planned.append([(one["volume"], page) for page in sorted(pages)])
    return planned


def woven(requests, planned, versions):
    """(what is accessed, fetched, size of its bytes) in order; of write-around, what is accessed has a version."""
    version, out = {}, []
    for one, fetched in zip(requests, planned, strict=True):
        for page in own_pages(one):
            at = (one["volume"], page)
            if versions and one["op"] == 1:
                version[at] = version.get(at, 0) + 1
            begin, end = max(one["offset"], page * PAGE), min(one["offset"] + one["size"], (page + 1) * PAGE)
            out.append(((*at, version.get(at, 0)), False, end - begin))
        out += [((*at, version.get(at, 0)), True, 0) for at in fetched]
    return out
