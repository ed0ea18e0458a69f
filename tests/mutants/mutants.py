"""Wrong runtimes: one changed text each in the reference, which the golden sets have to catch."""

from dataclasses import dataclass

HISTORY = "cachezoo.kernels.history"
FEATURES = "cachezoo.features.history"
SEGMENTS = "cachezoo.kernels.segments"
FLASH = "cachezoo.kernels.flash"
MODES = "cachezoo.flash.modes"
ADMIT = "cachezoo.systems.admission.serve"
RANGE = "cachezoo.systems.prefetch.serve"
MANAGER = "cachezoo.kernels.manager"
LIMITS = "cachezoo.kernels.manager_limits"
SEQUENCE = "cachezoo.kernels.sequence"
INPUTS = "cachezoo.features.sequence"
CACHING = "cachezoo.systems.caching.serve"
WINDOW = "cachezoo.kernels.window"
WINDOWED = "cachezoo.features.window"
MONITOR = "cachezoo.systems.workload.serve"
KNOWN = "cachezoo.systems.workload.known"
PAST = "cachezoo.kernels.reuse.past"
ASKED = "cachezoo.features.reuse"
OWN = "cachezoo.kernels.reuse.own"
HAZARDS = "cachezoo.kernels.reuse.hazards"
WORTH = "cachezoo.kernels.evict.worth"
FOLLOW = "cachezoo.kernels.follow"
CACHE = "cachezoo.systems.reuse.cache"
AZOR = "cachezoo.kernels.evict.azor"
S3FIFO = "cachezoo.kernels.evict.s3fifo"
TINYLFU = "cachezoo.kernels.evict.wtinylfu"
TABLE = "cachezoo.systems.streams.dictionary"
PLACED = "cachezoo.systems.streams.serve"
QUEUED = "cachezoo.kernels.virtual.queues"
MAPPED = "cachezoo.kernels.virtual.mapping"
VALUED = "cachezoo.kernels.virtual.vrm"
ARC = "cachezoo.kernels.evict.arc"


@dataclass(frozen=True)
class Mutant:
    """A wrong runtime.

    Attributes:
        name: what it does wrong.
        module: of the reference.
        right: text that stands once in the module's source.
        wrong: in its place.
    """

    name: str
    module: str
    right: str
    wrong: str


def _of(module: str, *changes: tuple[str, str, str]) -> tuple[Mutant, ...]:
    return tuple(Mutant(name, module, right, wrong) for name, right, wrong in changes)


HISTORIES = (
    *_of(
        HISTORY,
        ("buckets never turn", "bucket = (rank + i) // bucket_width", "bucket = 0"),
        ("a bucket is one request longer", "(rank + i) // bucket_width", "(rank + i) // (bucket_width + 1)"),
        ("buckets begin at request 1", "(rank + i) // bucket_width", "(rank + i + 1) // bucket_width"),
        ("windows one bucket too long", "while back < windows[w]:", "while back < windows[w] + 1:"),
        ("windows one bucket too short", "while back < windows[w]:", "while back < windows[w] - 1:"),
        ("the ring is not cleared", "for back in range(min(gap, depth)):", "for back in range(0):"),
        ("a bucket too few is cleared", "for back in range(min(gap, depth)):", "for back in range(min(gap, depth) - 1):"),
        ("only the present bucket is cleared", "for back in range(min(gap, depth)):", "for back in range(min(gap, 1)):"),
        ("the writes' ring is not cleared", "        counts[key, 1, slot] = 0\n", ""),
        ("a whole turn forgets nothing", "for back in range(min(gap, depth)):", "for back in range(gap % depth):"),
        ("counted before it is read", "            _add_windows(key, bucket, counts, windows, out[i])",
         "            _count(key, kind, bucket, counts)\n            _add_windows(key, bucket, counts, windows, out[i])"),
        ("writes are counted as reads", "kind = READ if read[i] else WRITE", "kind = READ"),
        ("reads and writes are exchanged", "kind = READ if read[i] else WRITE", "kind = WRITE if read[i] else READ"),
        ("writes are not counted", "            _count(ids[j], kind, bucket, counts)",
         "            _count(ids[j], kind, bucket, counts) if kind == READ else None"),
        ("only the last segment's counts", "row[kind * width + w] += total", "row[kind * width + w] = total"),
        ("only the first segment is counted", "        for j in range(start[i], start[i + 1]):\n            _count",
         "        for j in range(start[i], start[i] + 1):\n            _count"),
    ),
    *_of(
        FEATURES,
        ("block ids without the volume", "(volume.astype(np.int64) << SEGMENT_BITS) + block", "block + 0 * volume"),
        ("no volume for an absent namespace", "batch.volume if batch.namespace is None else batch.namespace",
         "batch.namespace"),
        ("user names are not shortened", 'key = user_key if column == "user" else str', "key = str"),
        ("user names are cut at / alone", 'name.split("/", 1)[0].split(":", 1)[0]', 'name.split("/", 1)[0]'),
        ("user names are cut at : alone", 'name.split("/", 1)[0].split(":", 1)[0]', 'name.split(":", 1)[0]'),
        ("unknown names have the first code", "UNKNOWN = -1", "UNKNOWN = 0"),
        ("the end is one past the last segment", "first + touched - 1, touched", "first + touched, touched"),
        ("the block's start counts blocks", "- block * geometry.per_block", "- block"),
        ("segments have the blocks' history", "update(start, keys, read, self._rank",
         "update(start, keys // geometry.per_block, read, self._rank"),
        ("the clock starts anew in each call", "        self._rank += len(op)\n", ""),
    ),
    *_of(
        SEGMENTS,
        ("segment keys without the volume", "(volume.astype(np.int64) << SEGMENT_BITS) + first, keys)",
         "first + 0 * volume, keys)"),
        ("the last byte's segment is left out", "last = (offset + size - 1) // geometry.segment_bytes",
         "last = np.maximum(first, (offset + size - geometry.segment_bytes) // geometry.segment_bytes)"),
        ("the segment after the end is touched", "last = (offset + size - 1) // geometry.segment_bytes",
         "last = (offset + size) // geometry.segment_bytes"),
    ),
)  # fmt: skip

FLASH_CACHE = (
    *_of(
        FLASH,
        ("the most recently used is evicted", "victim = pop_tail(before, after, n_ids)",
         "victim = after[n_ids]\n                unlink(before, after, victim)"),
        ("FIFO in place of LRU", "                if lru:\n", "                if False:\n"),
        ("writes invalidate nothing", "                if after[s] != ABSENT:\n                    unlink",
         "                if False:\n                    unlink"),
        ("an invalidated segment holds its room", "                    used -= 1\n", ""),
        ("what is prefetched enters last", "s = fetch[p if p < more else p - more]", "s = fetch[k]"),
        ("what is missed enters in falling order", "s = fetch[p if p < more else p - more]",
         "s = fetch[p] if p < more else fetch[2 * accepted - 1 - p + more - accepted]"),
        ("one segment less fits", "if used == capacity:\n                victim", "if used >= capacity - 1:\n                victim"),
        ("prefetch ends a segment early", "range(range_low[i], range_high[i])", "range(range_low[i], range_high[i] - 1)"),
        ("prefetch on rejected misses", "if per_block > 0 and accepted > 0 and", "if per_block > 0 and"),
        ("all_on_partial on every miss", "(hits[i] > 0 or not on_partial)", "True"),
        ("all_on_partial only without hits", "(hits[i] > 0 or not on_partial)", "(hits[i] == 0 or not on_partial)"),
        ("resident segments are fetched again", "if after[s] == ABSENT and (index < first[i] or index >= end):",
         "if index < first[i] or index >= end:"),
        ("the I/O is not widened", "low, high = io_low, io_high", "low, high = low, high"),
        ("the I/O counts what is missing", "io_segments[i] = high - low + 1", "io_segments[i] = absent"),
        ("written counts the misses alone", "written[i] = more", "written[i] = accepted"),
    ),
)  # fmt: skip

PLAIN_MODES = _of(
    MODES,
    ("next(n) begins at the request's last", "np.minimum(last.astype(np.int64) + 1, per_block)",
     "np.minimum(last.astype(np.int64), per_block)"),
    ("next(n) fetches one less", "low.astype(np.int64) + int(ahead[1])", "low.astype(np.int64) + int(ahead[1]) - 1"),
    ("all_on_miss is all_on_partial", "mode == ALL_ON_PARTIAL)", "mode != NONE)"),
    ("all_on_partial is all_on_miss", "mode == ALL_ON_PARTIAL)", "False)"),
    ("no prefetch in any plain mode", "    elif mode != NONE:\n        high[:] = per_block", "    elif mode != NONE:\n        high[:] = 0"),
    ("next(n) is all_on_miss", "high = np.minimum(low.astype(np.int64) + int(ahead[1]), per_block).astype(np.int32)",
     "low, high = low * 0, low * 0 + per_block"),
)  # fmt: skip

ADMISSION = (
    *HISTORIES,
    *FLASH_CACHE,
    *PLAIN_MODES,
    *_of(ADMIT, ("above the threshold, not at it", "self.scores(features) >= self.threshold",
                 "self.scores(features) > self.threshold")),
)  # fmt: skip

PREFETCH = (
    *FLASH_CACHE[:6],
    *PLAIN_MODES,
    *_of(
        RANGE,
        ("halves away from zero", "np.rint(outputs[:, :2])", "np.floor(outputs[:, :2] + 0.5)"),
        ("reaches rounded up", "np.rint(outputs[:, :2])", "np.ceil(outputs[:, :2])"),
        ("reaches rounded down", "np.rint(outputs[:, :2])", "np.floor(outputs[:, :2])"),
        ("a reach below 0 shrinks the range", "np.clip(np.rint(outputs[:, :2]), 0, per_block)",
         "np.minimum(np.rint(outputs[:, :2]), per_block)"),
        ("a range begins before its block", "np.maximum(first - reach[:, 0], 0)", "first - reach[:, 0]"),
        ("a range ends beyond its block", "np.minimum(last + 1 + reach[:, 1], per_block)", "last + 1 + reach[:, 1]"),
        ("a range ends at the last, not past it", "last + 1 + reach[:, 1]", "last + reach[:, 1]"),
        ("before and after are exchanged", "low = np.maximum(first - reach[:, 0], 0)", "low = np.maximum(first - reach[:, 1], 0)"),
        ("own range alone is fetched", "(high - low > own) & self._asked", "(high - low >= own) & self._asked"),
        ("worth above the threshold, not at it", '"worth")] >= self._worth', '"worth")] > self._worth'),
        ("ml_range asks for worth", 'if mode == "ml_range":', 'if mode == "":'),
        ("ml_range_when asks for none", 'if mode == "ml_range":', "if True:"),
        ("no range of the model", "return Prefetch(np.where(asked, low, 0).astype(np.int32)",
         "asked = asked & False\n        return Prefetch(np.where(asked, low, 0).astype(np.int32)"),
    ),
)  # fmt: skip

CACHES = (
    *_of(
        MANAGER,
        ("no demotion", "now - state.stamps[page] >= period", "now - state.stamps[page] >= 1 << 60"),
        ("demotion an access late", "now - state.stamps[page] >= period", "now - state.stamps[page] > period"),
        ("the top is not protected", "            if nodes[TOP, page]:\n                _clock_on(state, page, q)",
         "            if False:\n                _clock_on(state, page, q)"),
        ("protected pages keep their old clock's place", "        while page < n_pages and now - state.stamps[page] >= period:",
         "        if page < n_pages and now - state.stamps[page] >= period:"),
        ("the top's share is rounded up", "* state.limits[PERCENT] // 100", "* state.limits[PERCENT] // -100 * -1"),
        ("a demoted page enters at the tail", "                _enter_head(state, page, q - 1)",
         "                _enter_tail(state, page, q - 1)"),
        ("demoted two queues down", "                _enter_head(state, page, q - 1)\n                _clock_on(state, page, q - 1)",
         "                _enter_head(state, page, 0)\n                _clock_on(state, page, 0)"),
        ("late is never demoted", "for queue in (MEAN, LATE):\n        q = queue - 1", "for queue in (MEAN,):\n        q = queue - 1"),
        ("late before mean", "for queue in (MEAN, LATE):\n        q = queue - 1", "for queue in (LATE, MEAN):\n        q = queue - 1"),
        ("the head is evicted", "page = nodes[BEFORE, state.stamps.size + q]", "page = nodes[AFTER, state.stamps.size + q]"),
        ("late is evicted first", "    q = 0\n    while counters[LENGTH + q] == 0:\n        q += 1",
         "    q = 2\n    while counters[LENGTH + q] == 0:\n        q -= 1"),
        ("the dirty flag is lost on eviction", "counters[DIRTY_EVICTIONS] += nodes[DIRTY, page]", "pass"),
        ("an admitted write is clean", "state.nodes[DIRTY, pages[k]] = 1 if write else 0", "state.nodes[DIRTY, pages[k]] = 0"),
        ("a write hit is clean", "            state.nodes[DIRTY, page] = 1\n", ""),
        ("a hit does not move its page", "        _enter_head(state, page, held - 1)\n        return",
         "        _enter_tail(state, page, held - 1)\n        return"),
        ("requeue goes to the head of soon", "        _enter_tail(state, page, SOON - 1)\n    else:\n        _enter_head(state, page, queue - 1)",
         "        _enter_head(state, page, SOON - 1)\n    else:\n        _enter_head(state, page, queue - 1)"),
        ("requeue goes to the tail of its queue", "    else:\n        _enter_head(state, page, queue - 1)\n    _clock_on",
         "    else:\n        _enter_tail(state, page, queue - 1)\n    _clock_on"),
        ("requeue does nothing", "if not state.limits[REQUEUE]:\n        held", "if True:\n        held"),
        ("a hit starts the clock anew", "        held = state.nodes[QUEUE, page]\n        _leave(state, page)\n        _enter_head(state, page, held - 1)",
         "        held = state.nodes[QUEUE, page]\n        _leave(state, page)\n        _clock_off(state, page)\n        _clock_on(state, page, held - 1)\n        _enter_head(state, page, held - 1)"),
        ("free space is not filled", "if into == ABSENT and state.limits[FILL]", "if into == ABSENT and False"),
        ("free space is always filled", "if into == ABSENT and state.limits[FILL]", "if into == ABSENT"),
        ("what fills free space goes to mean", "        into = SOON\n", "        into = MEAN\n"),
        ("above the threshold, not at it", "if outputs[0] < threshold:", "if outputs[0] <= threshold:"),
        ("a tie goes to the later queue", "if outputs[queue] > outputs[best]:", "if outputs[queue] >= outputs[best]:"),
        ("the single queue is soon", "        return MEAN\n    best", "        return SOON\n    best"),
        ("single is not read", "    if single:\n", "    if False:\n"),
        ("the clock counts requests", "state.counters[ACCESSES] += pages.size", "state.counters[ACCESSES] += 1"),
        ("demotion before the request is counted", "    state.counters[ACCESSES] += pages.size\n    _demote(state)",
         "    _demote(state)\n    state.counters[ACCESSES] += pages.size"),
        ("misses enter before hits move", "    missing = _touch(state, pages, write, queue, outcome)\n",
         "    missing = _touch(state, pages[::-1], write, queue, outcome[::-1])\n"),
        ("the queue is told though it was not asked", "            if not state.limits[REQUEUE]:\n                queues[lane] = -1",
         "            if False:\n                queues[lane] = -1"),
    ),
    *_of(
        LIMITS,
        ("the period is in pages of the queue", "int(policy[\"demote_capacities\"]) * limits[:, manager.CAPACITY]",
         "int(policy[\"demote_capacities\"])"),
    ),
)  # fmt: skip

SEQUENCES = (
    *_of(
        SEQUENCE,
        ("regions are hashed without + 1", "offset // region_bytes + 1", "offset // region_bytes"),
        ("regions are not hashed", "((keys * HASH_MULTIPLIER) >> np.uint64(64 - bits))", "(keys & np.uint64((1 << bits) - 1))"),
        ("pages are never forgotten", "seen == 0 or age > memory", "seen == 0"),
        ("pages are forgotten an access early", "seen == 0 or age > memory", "seen == 0 or age >= memory"),
        ("regions are forgotten an access early", "last[slot] >= 0 and age <= memory", "last[slot] >= 0 and age < memory"),
        ("regions are never forgotten", "last[slot] >= 0 and age <= memory", "last[slot] >= 0"),
        ("a forgotten page keeps its heat", "        heats[:, page] = 0.0\n", ""),
        ("a forgotten page keeps its gap", "        table[GAP_BEFORE, page] = 0\n", ""),
        ("a forgotten page keeps its count", "        seen = 0\n        table", "        table"),
        ("ages count requests", "int(p - table[LAST, page])", "int(p - table[LAST, page]) // 2 + 1"),
        ("heat halves in two capacities", "_decayed(heats[k, page], age, capacities[k])",
         "_decayed(heats[k, page], age, 2 * capacities[k])"),
        ("long heat halves in four capacities", "LONG_HALF_LIVES = 8.0", "LONG_HALF_LIVES = 4.0"),
        ("heat does not fade", "math.exp(-0.6931471805599453 * age / half_life)", "1.0"),
        ("a region's heat counts requests", "heats[k, slot] = heat + pages", "heats[k, slot] = heat + 1"),
        ("the window is an access longer", "leaving = p - window", "leaving = p - window - 1"),
        ("pages never leave the window", "                live -= 1\n", ""),
        ("pages come back uncounted", "            if newest[page] < 0:\n                live += 1", "            if newest[page] < 0 and p < window:\n                live += 1"),
        ("the last write is not remembered", "    table[WROTE, page] = write\n", ""),
        ("written once is written for ever", "table[WROTE, page] = write", "table[WROTE, page] = max(table[WROTE, page], write)"),
        ("a jump has no sign", "common[i, DELTA] = steps if delta >= 0 else -steps", "common[i, DELTA] = steps"),
        ("a jump is counted from the start", "offset[i] - offset[i - 1] - size[i - 1]", "offset[i] - offset[i - 1]"),
        ("runs never end", "run = run + 1 if delta == 0 and i > 0 else 0", "run = run + 1 if delta == 0 and i > 0 else run"),
        ("the first request has a run", "run = run + 1 if delta == 0 and i > 0 else 0", "run = run + 1 if delta == 0 else 0"),
        ("sums in place of means", "common[i, AGE] = sums[0] / count", "common[i, AGE] = sums[0]"),
    ),
    *_of(
        INPUTS,
        ("no clip", "-clip, clip)\n    return out", "-1e30, 1e30)\n    return out"),
        ("ranges are not cut", "if ranges is not None and entry", "if False and entry"),
        ("ranges are cut after they are normalised", "            values = np.clip(values, low, high)\n",
         "            values = np.clip((values - entry[\"mean\"]) / entry[\"scale\"], low, high)\n"),
        ("ages in accesses, not capacities", "math.log2(columns.capacities[lane]) if relative else 0.0", "0.0"),
    ),
    *_of(
        CACHING,
        ("the state is never reset", "None if self.reset_every and row % self.reset_every == 0 else state", "state"),
        ("the state is always reset", "None if self.reset_every and row % self.reset_every == 0 else state", "None"),
        ("the state is reset a request late", "row % self.reset_every == 0", "row % self.reset_every == 1"),
    ),
)  # fmt: skip
CACHING_ALL = (*CACHES, *SEQUENCES)

WORKLOAD = (
    *_of(
        MONITOR,
        ("a tie goes to the first class", "return current if current in tied else int(tied[0])", "return int(tied[0])"),
        ("a tie goes to the last class", "return current if current in tied else int(tied[0])",
         "return current if current in tied else int(tied[-1])"),
        ("one vote switches", "if current == NONE or streak >= switch_votes:", "if True:"),
        ("a vote too many is asked for", "streak >= switch_votes", "streak > switch_votes"),
        ("the first vote does not count", "if current == NONE or streak >= switch_votes:", "if streak >= switch_votes:"),
        ("a streak goes on through other votes", "streak = streak + 1 if vote == candidate else 1", "streak = streak + 1"),
        ("unknown votes are left out", "            vote = UNKNOWN\n", "            continue\n"),
        ("votes are never unknown", "if unsure is not None and unsure[place]:", "if False:"),
        ("windows are never unknown", "np.where(strange > self.unknown_above[\"window\"], UNKNOWN, likeliest)", "np.where(strange < -1, UNKNOWN, likeliest)"),
        ("votes are taken of known windows alone", "in_force[last : last + vote_windows] = current",
         "in_force[last : last + 1] = current"),
        ("the vote's limit is the windows'", "> self.unknown_above[\"vote\"]", "> self.unknown_above[\"window\"] / 64"),
        ("ties of classes go to the last", "likeliest = probabilities.argmax(axis=1).astype(np.int32)",
         "likeliest = (probabilities.shape[1] - 1 - probabilities[:, ::-1].argmax(axis=1)).astype(np.int32)"),
        ("the rest of the requests is left out", "[: len(batch)]", "[: len(batch) // self.window * self.window]"),
        ("windows overlap by one", "starts = np.arange(0, len(batch), self.window, dtype=np.int64)",
         "starts = np.maximum(np.arange(0, len(batch), self.window, dtype=np.int64) - 1, 0)"),
    ),
    *_of(
        KNOWN,
        ("the farthest trace counts", "nearest: F64 = np.min(", "nearest: F64 = np.max("),
        ("strangeness is a sum", "found: F64 = total / len(whitening)", "found: F64 = total * 1.0"),
        ("deviations without moments of order 2", "values.std(axis=1)]", "values.std(axis=1) ** 2]"),
        ("deviations by one row less", "values.std(axis=1)]", "values.std(axis=1, ddof=1)]"),
        ("a vote is as strange as its strangest window", ".mean(axis=1)\n    return means", ".max(axis=1)\n    return means"),
    ),
    *_of(
        WINDOW,
        ("addresses of two volumes are compared", "if volume[j] != volume[i]:", "if False:"),
        ("touching is overlapping", "if apart < 0:", "if apart <= 0:"),
        ("age of the first overlap", "age = i - j if age == 0 else age", "age = i - j"),
        ("the nearest is the latest", "nearest = max(apart, 0) if nearest < 0 else min(nearest, max(apart, 0))", "nearest = max(apart, 0) if nearest < 0 else nearest"),
        ("no earlier request is at 0", "NONE = -1.0", "NONE = 0.0"),
        ("the lower middle", "len(starts) // 2", "(len(starts) - 1) // 2"),
        ("the mean gap counts requests", "gap * (end - first - 1) / span", "gap * (end - first) / span"),
        ("runs go on from window to window", "if before >= 0 and delta == 0 else 0", "if before >= 0 and delta <= 0 else 0"),
        ("a jump has no sign", "return steps if distance >= 0 else -steps", "return steps"),
    ),
    *_of(WINDOWED, ("no clip", "-clip, clip)\n    return out", "-1e30, 1e30)\n    return out")),
)  # fmt: skip

REUSE = (
    *_of(
        PAST,
        ("a rate sees its own request", "_settle(past, asked.start[r], HORIZONS[which]", "_settle(past, asked.start[r + 1], HORIZONS[which]"),
        ("rates never settle", "while j + horizon < before:", "while j + horizon < 0:"),
        ("an access settles one late", "while j + horizon < before:", "while j + horizon + 1 < before:"),
        ("used again is counted beyond the horizon", "if 0 < past.again[j] <= horizon else 0.0", "if 0 < past.again[j] else 0.0"),
        ("a rate begins at 0", "PRIOR_RATE = 0.3", "PRIOR_RATE = 0.0"),
        ("counts halve in half the time", "math.exp2((last - i) / half_life)", "math.exp2(2 * (last - i) / half_life)"),
        ("the write share forgets slower", "LATEST = 0.3", "LATEST = 0.2"),
        ("a region is a stretch", "REGION_PAGES, STRETCH_PAGES = 64, 512", "REGION_PAGES, STRETCH_PAGES = 512, 512"),
        ("companions count the page itself", "(together - float(row[FOUR])) / (size - 1)", "together / size"),
        ("a run does not go on", "past.run[0] + pages if asked.follows[r] else pages", "pages"),
        ("novelty makes no context", "context + (last >= 0)", "context"),
        ("writes and reads share their rates", "past.seen[page]) * 2 + write", "past.seen[page]) * 2"),
        ("unknown flags are 0", "UNKNOWN if flags & FLAG_UNKNOWN else (flags >> k) & 1", "(flags >> k) & 1"),
        ("intervals in accesses", "math.log2((i - last) / capacity) if last >= 0 else NEVER", "math.log2(i - last) if last >= 0 else NEVER"),
    ),
    *_of(
        ASKED,
        ("readahead is not told", 'LETTERS = {"M": past.FLAG_METADATA, "A": past.FLAG_READAHEAD', 'LETTERS = {"M": past.FLAG_METADATA, "a": past.FLAG_READAHEAD'),
        ("requests follow on other volumes", "(batch.offset[1:] == ends[:-1]) & (volume[1:] == volume[:-1])", "batch.offset[1:] == ends[:-1]"),
        ("all processes are one", "(batch.user.codes + 1).astype(np.int32)", "(batch.user.codes * 0).astype(np.int32)"),
        ("regions of all volumes are one", "where[:, 0] * span + where[:, 1]", "where[:, 1]"),
    ),
    *_of(
        OWN,
        ("no forest of its own", "while settled + delay < len(rows) and len(trees.leaves):", "while False:"),
        ("the forest is grown once", "        settled = further\n", "        settled = len(rows)\n"),
        ("the reservoir keeps the first rows", "place = i if i < len(reservoir) else scaled(draw(seed, i & 0x7FFFFFFF), i + 1)", "place = i"),
        ("the reservoir keeps the latest rows", "place = i if i < len(reservoir) else scaled(draw(seed, i & 0x7FFFFFFF), i + 1)", "place = i % len(reservoir)"),
        ("trees learn too fast", "RATE = 0.2", "RATE = 0.3"),
        ("a split of any size", "LEAST = 20", "LEAST = 1"),
        ("equal values go high", "(row[trees.inputs[t, n]] > trees.cuts[t, n])", "(row[trees.inputs[t, n]] >= trees.cuts[t, n])"),
        ("the own forest is always believed", "share = min(1.0, max(0.0, gained / (apart + DOUBT * capacity)))", "share = 1.0"),
        ("the own forest is never believed", "share = min(1.0, max(0.0, gained / (apart + DOUBT * capacity)))", "share = 0.0"),
        ("targets are read at once", "while settled + delay < i:", "while settled < i:"),
    ),
    *_of(
        HAZARDS,
        ("counts never fade", "HALF_LIFE = 32", "HALF_LIFE = 1 << 40"),
        ("worth is ranked once", "if i - hazards.ranked[0] >= max(1, capacity // RANKED_EVERY):", "if False:"),
        ("worth is the hazard of the bin", "best = max(best, (1 - alive) / held)", "best = best if later > b else (1 - alive) / held"),
        ("pages that leave a bin do not count", "                hazards.risks[hazards.classes[j], b] += 1\n            j += 1", "                pass\n            j += 1"),
        ("uses do not count", "    hazards.events[k, b] += 1\n", ""),
        ("bins are octaves", "math.ceil(2 * math.log2(age / first))", "math.ceil(math.log2(age / first))"),
    ),
    *_of(
        WORTH,
        ("the page asked for always enters", "least, at, oldest = _worth(state, page, i), -1, i", "least, at, oldest = 1e300, -1, i"),
        ("the page worth most leaves", "if worth < least or (worth == least and last < oldest):", "if worth > least or (worth == least and last < oldest):"),
        ("among equals the latest leaves", "(worth == least and last < oldest)", "(worth == least and last > oldest)"),
        ("draws do not go on", "        numbers[DRAWN] += 1\n", ""),
        ("all residents are compared", "every = state.candidates >= capacity", "every = True"),
        ("a hit does not change the class", "    saw(state.hazards, page, i, state.residents.size)\n", "    return\n"),
    ),
    *_of(
        FOLLOW,
        ("the first leads for ever", "            if ahead != state.numbers[LEADER]:\n                state.numbers[LEADER] = ahead\n                _keep", "            if False:\n                state.numbers[LEADER] = ahead\n                _keep"),
        ("hits weigh alike for ever", "state.weight[0] *= state.growth", "state.weight[0] *= 1.0"),
        ("strays leave latest first", "left = int(state.before[state.place.size + STRAY - KEPT])", "left = int(state.after[state.place.size + STRAY - KEPT])"),
    ),
    *_of(
        CACHE,
        ("shadows are not told apart", "bits |= hit.astype(np.uint8) << np.uint8(k)", "bits |= hit.astype(np.uint8)"),
        ("a score at a cut is above it", "np.searchsorted(quantiles, np.asarray(scores, np.float32))", "np.searchsorted(quantiles, np.asarray(scores, np.float32), side=\"right\")"),
        ("scores are not corrected", "classes_of(self.corrected(scores), plan", "classes_of(scores, plan"),
    ),
    *_of(AZOR, ("metadata is as data", "if state.flags[i] & METADATA:", "if False:"),
         ("counts do not grow", "(((state.own[page] >> TIME_BITS) + 1) << TIME_BITS) | i", "(1 << TIME_BITS) | i")),
    *_of(S3FIFO,
         ("S3-FIFO has no ghosts", "if known or (at[EVICTED] == 0", "if (at[EVICTED] == 0")),
    *_of(TINYLFU, ("the candidate always wins", "seen(state.table, candidate) > seen(state.table, rival)", "True"),
         ("the protected may fill all", "    if state.counts[PROTECTED] > state.protected:\n        oldest = state.before[state.where.size + PROTECTED - 1]\n        _leave(state, oldest)\n        _enter(state, oldest, PROBATION)\n    _count", "    _count")),
)  # fmt: skip

STREAMS = (
    *_of(
        TABLE,
        ("a range begins one chunk late", 'side="right") - 1]', 'side="left") - 1]'),
        ("a range begins one chunk early", "found = self.streams[np.searchsorted(self.starts, keys, ",
         "found = self.streams[np.searchsorted(self.starts, keys + 1, "),
        ("the range after is taken", 'side="right") - 1]', 'side="right") % len(self.streams)]'),
        ("the last range is not searched", "np.searchsorted(self.starts, keys", "np.searchsorted(self.starts[:-1], keys"),
        ("chunks beyond 128 TiB go to stream 1", "np.where(inside, found, np.uint8(UNKNOWN_STREAM))",
         "np.where(inside, found, np.uint8(1))"),
        ("chunks beyond 128 TiB begin at 0 again", "inside = (asked >= 0) & (asked < MOST_CHUNKS)\n        keys = np.where(inside, asked, 0)",
         "inside = asked >= 0\n        keys = (asked % MOST_CHUNKS)"),
        ("what was not learned goes to stream 1", "result: U8 = np.where(inside, found", "result: U8 = np.where(inside, np.maximum(found, 1)"),
        ("the last stream is not there", "result: U8 = np.where(inside, found", "result: U8 = np.where(inside, np.minimum(found, self.count - 2)"),
        ("ids have three bits", "result: U8 = np.where(inside, found", "result: U8 = np.where(inside, found % 8"),
    ),
    *_of(
        PLACED,
        ("chunks of 64 KiB", "return offsets // CHUNK_BYTES", "return offsets // (2 * CHUNK_BYTES)"),
        ("chunks of 32 KiB in decimal", "return offsets // CHUNK_BYTES", "return offsets // 32000"),
        ("the nearest chunk", "return offsets // CHUNK_BYTES", "return (offsets + CHUNK_BYTES // 2) // CHUNK_BYTES"),
        ("offsets are taken for sectors", "return offsets // CHUNK_BYTES", "return offsets // 64"),
        ("offsets are rounded to pages first", "return offsets // CHUNK_BYTES", "return (offsets + 4095) // 4096 // 8"),
        ("offsets with sign in 32 bits", "return offsets // CHUNK_BYTES", "return offsets.astype(np.int32) // np.int32(CHUNK_BYTES)"),
        ("offsets without sign in 32 bits", "return offsets // CHUNK_BYTES", "return (offsets & 0xFFFFFFFF) // CHUNK_BYTES"),
        ("sectors in 32 bits", "return offsets // CHUNK_BYTES", "return (offsets // 512 & 0xFFFFFFFF) // 64"),
        ("chunks in float32 all the way", "return self._infer(self.chunks(offsets))",
         "return self._infer(self.chunks(offsets).astype(np.float32).astype(np.int64))"),
        ("the last byte decides", "self.placements(batch.offset).astype(np.int32)",
         "self.placements(batch.offset + batch.size - 1).astype(np.int32)"),
        ("the byte after the last decides", "self.placements(batch.offset).astype(np.int32)",
         "self.placements(batch.offset + batch.size).astype(np.int32)"),
        ("reads are placed", "batch.op == OP_WRITE", "batch.op <= OP_WRITE"),
        ("reads alone are placed", "batch.op == OP_WRITE", "batch.op != OP_WRITE"),
    ),
)  # fmt: skip

VIRTUAL = (
    *_of(
        QUEUED,
        ("lru: a full queue keeps its last page", "min(length, n - 1)", "length"),
        ("lru: a page behind the queue is still known", "known = 0 <= distance < n", "known = 0 <= distance"),
        ("lfu: a page goes behind its class", "filled = above[own + 1]", "filled = min(above[own], vacated)"),
        ("lfu: a page's count outlives it", "            count[last] = 0\n", "            count[last] = count[last]\n"),
        ("arc: new pages go to the head", "filled = state.length[arc.T2]", "filled = 0"),
    ),
    *_of(
        ARC,
        ("arc: the target never moves", "        _adapt(state, where)\n", "        pass\n"),
        ("arc: hits stay in T1", "    if state.place[page] == T1:\n        state.place[page] = T2\n        state.length[T1] -= 1\n        state.length[T2] += 1\n    link_head(state.before, state.after, state.place.size + T2, page)",
         "    link_head(state.before, state.after, state.place.size + state.place[page], page)"),
        ("arc: ghosts come back to T1", "forget, to, victim = NOWHERE, T2, NONE", "forget, to, victim = NOWHERE, T1, NONE"),
    ),
    *_of(
        MAPPED,
        ("of equal fragments the farthest is mapped", "    for b in range(value.size):\n        if equals == 0:",
         "    for b in range(value.size - 1, -1, -1):\n        if equals == 0:"),
        ("a run more is kept", "while runs > f:", "while runs > f + 1:"),
        ("a run less is kept", "    if found > f:\n        _merge(value, f, found, work)",
         "    if found > max(1, f - 1):\n        _merge(value, max(1, f - 1), found, work)"),
        ("of equal runs the nearest is dropped", "_push(work.least, run, total(value, low, high), -low)",
         "_push(work.least, run, total(value, low, high), low)"),
        ("the shortest run is dropped", "_push(work.least, run, total(value, low, high), -low)",
         "_push(work.least, run, float(high - low), -low)"),
        ("the worst fragment beside a run is taken", "_push(work.near, b, -value[b], b)", "_push(work.near, b, value[b], b)"),
        ("the farthest fragment beside a run is taken", "_push(work.near, b, -value[b], b)",
         "_push(work.near, b, -value[b], -b)"),
        ("cost is forgotten", "return found - cost * crossed", "return found"),
        ("with a cost the head is always mapped", "if head >= worth:", "if True:"),
    ),
    *_of(
        VALUED,
        ("a run's last position is outside", "if state.runs[run, 0] <= position < state.runs[run, 1]:",
         "if state.runs[run, 0] <= position < state.runs[run, 1] - 1:"),
        ("pages enter a run that begins where the move does", "found += filled < state.runs[run, 0] <= vacated",
         "found += filled <= state.runs[run, 0] <= vacated"),
        ("pages do not enter a run that begins where a place is vacated", "found += filled < state.runs[run, 0] <= vacated",
         "found += filled < state.runs[run, 0] < vacated"),
        ("values are counted where the page goes", "state.value[position // fragment] += 1",
         "state.value[filled // fragment] += 1"),
        ("crossings are never tallied", "        state.crossings[b] += crossed\n", "        state.crossings[b] += 0\n"),
        ("values do not decay", "        state.value[b] *= alpha\n", ""),
        ("crossings do not decay", "        state.crossings[b] *= alpha\n", ""),
        ("what was mapped before is read again", "found -= max(0, min(high, state.before[old, 1])",
         "found -= 0 * max(0, min(high, state.before[old, 1])"),
        ("pages left over are not mapped", "rest = capacity - k * fragment", "rest = 0"),
        ("pages left over go before the run", "if runs[0, 1] == n:", "if runs[0, 0] > 0:"),
        ("values decay before the mapping", "            read = remap(state, n, capacity, settings)\n",
         "            state.value[:] *= settings.alpha\n            read = remap(state, n, capacity, settings)\n"),
        ("the first quantum is one longer", "if (i + 1) % settings.q == 0:", "if i % settings.q == 0 and i > 0:"),
        ("a warm start is cold", "value = np.zeros(count) if profile is None else", "value = np.zeros(count) if True else"),
        ("a warm start counts one reference", "return settings.q * quanta", "return 1.0"),
    ),
)  # fmt: skip

MUTANTS = {
    "admission": ADMISSION, "prefetch": PREFETCH, "caching": CACHING_ALL, "workload": WORKLOAD, "reuse": REUSE,
    "streams": STREAMS, "virtual": VIRTUAL,
}  # fmt: skip
