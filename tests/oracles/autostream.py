"""AutoStream by its definition: of SFR each chunk's writes are all kept, and their weights summed anew."""

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


def multiq(chunks, at, streams):
    queues = [[] for _ in range(streams)]
    writes, expires, found = {}, {}, []
    hottest, most, life = None, 0, math.inf
    for chunk, now in zip(chunks, at, strict=True):
        found.append(next((k for k, queue in enumerate(queues) if chunk in queue), 0))
        own = writes.setdefault(chunk, [])
        own.append(now)
        if len(own) > most:
            hottest, most = chunk, len(own)
            if most > 1:
                life = own[-1] - own[-2]
        for queue in queues:
            if chunk in queue:
                queue.remove(chunk)
        queues[min(math.floor(math.log2(len(own))), streams - 1)].append(chunk)
        expires[chunk] = now + life
        for k in reversed(range(1, streams)):
            if queues[k] and expires[queues[k][0]] < now:
                gone = queues[k].pop(0)
                queues[k - 1].append(gone)
                expires[gone] = now + life
                if gone == hottest:
                    hottest = next(queue for queue in reversed(queues) if queue)[-1]
                    most = len(writes[hottest])
    return found
