"""AutoStream's SFR by its definition: each chunk's writes are all kept, and their weights summed anew."""

import math


def sfr(chunks, at, follows, decay, streams):
    written, found = {}, []
    for chunk, now, joins in zip(chunks, at, follows, strict=True):
        if joins:
            found.append(found[-1])
            continue
        times = written.setdefault(chunk, [])
        times.append(now)
        weight = math.fsum(0.5 ** ((now - time) / decay) for time in times)
        found.append(min(streams - 1, math.floor(math.log2(weight))))
    return found
