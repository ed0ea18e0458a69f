"""Wrong runtimes: one changed text each in libcachezoo's sources, which the golden sets have to catch."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Mutant:
    """A wrong runtime.

    Attributes:
        name: what it does wrong.
        source: a file of runtimes/c/src.
        right: text that stands there, in a function or a `#define`.
        wrong: in its place.
        place: where `right` begins in the source; None where it stands there once.
    """

    name: str
    source: str
    right: str
    wrong: str
    place: int | None = None


def _of(source: str, *changes: tuple[str, str, str]) -> tuple[Mutant, ...]:
    return tuple(Mutant(name, source, right, wrong) for name, right, wrong in changes)


HISTORIES = (
    *_of(
        "history.c",
        ("buckets never turn", "int64_t bucket = (int64_t)(stream->observed / (uint64_t)model->bucket_requests);", "int64_t bucket = 0;"),
        ("a bucket is one request longer", "int64_t bucket = (int64_t)(stream->observed / (uint64_t)model->bucket_requests);",
         "int64_t bucket = (int64_t)(stream->observed / ((uint64_t)model->bucket_requests + 1));"),
        ("buckets begin at request 1", "int64_t bucket = (int64_t)(stream->observed / (uint64_t)model->bucket_requests);",
         "int64_t bucket = (int64_t)((stream->observed + 1) / (uint64_t)model->bucket_requests);"),
        ("the clock starts anew in each call", "int64_t bucket = (int64_t)(stream->observed / (uint64_t)model->bucket_requests);",
         "int64_t bucket = (int64_t)(stream->observed % 16 / (uint64_t)model->bucket_requests);"),
        ("block ids without the volume", "high + block, 1,", "block, 1,"),
        ("segment keys without the volume", "high + first, touched,", "first, touched,"),
        ("segments have the blocks' history", "high + first, touched,", "high + block, 1,"),
        ("no volume for an absent namespace", "cz_codes_of(&history->volumes, names, volume)", "CZ_UNKNOWN"),
        ("the end is one past the last segment", "capped(start + touched - 1)", "capped(start + touched)"),
        ("the block's start counts blocks", "start = first - block * model->per_block", "start = first - block"),
        ("the last byte's segment is left out", "    int64_t touched = (request->offset + request->size - 1) / model->segment_bytes - first + 1;\n",
         "    int64_t whole = (request->offset + request->size - model->segment_bytes) / model->segment_bytes;\n"
         "    int64_t touched = whole > first ? whole - first + 1 : 1;\n"),
        ("the segment after the end is touched", "int64_t touched = (request->offset + request->size - 1) /", "int64_t touched = (request->offset + request->size) /"),
    ),
    *_of(
        "history_keys.c",
        ("windows one bucket too long", "back < keys->windows.length[w]; back++", "back < keys->windows.length[w] + 1; back++"),
        ("windows one bucket too short", "back < keys->windows.length[w]; back++", "back < keys->windows.length[w] - 1; back++"),
        ("the ring is not cleared", "int64_t passed = bucket - own->newest,", "int64_t passed = 0,"),
        ("a bucket too few is cleared", "int64_t passed = bucket - own->newest,", "int64_t passed = bucket - own->newest - 1,"),
        ("only the present bucket is cleared", "int64_t passed = bucket - own->newest,", "int64_t passed = bucket > own->newest,"),
        ("a whole turn forgets nothing", "int64_t passed = bucket - own->newest,", "int64_t passed = (bucket - own->newest) % keys->depth,"),
        ("the writes' ring is not cleared", "ring[at] = ring[depth + at] = 0;", "ring[at] = 0;"),
        ("counted before it is read", "        count(keys, id, now, op);\n    }\n",
         "        count(keys, id, now, op);\n    }\n"
         "    memset(sums, 0, 2 * (size_t)keys->windows.count * sizeof *sums);\n"
         "    for (int64_t i = 0; i < n; i++) read_keys(keys, first + i, 1, bucket, sums, passing);\n"),
        ("writes are counted as reads", "count(keys, id, now, op);", "count(keys, id, now, CZ_READ);"),
        ("reads and writes are exchanged", "count(keys, id, now, op);", "count(keys, id, now, !op);"),
        ("writes are not counted", "count(keys, id, now, op);", "if (!op) count(keys, id, now, op);"),
        ("counts stop at 255", "if (ring[now] == CZ_MAX_COUNT)", "if (ring[now] == 255)"),
        ("a bucket's counts stop at 255", "    ring[now]++;\n", "    ring[now] += ring[now] < 255;\n"),
        ("only the last segment's counts", "uint32_t total = sums[w] + own->sums[w];", "uint32_t total = own->sums[w];"),
        ("only the first segment is counted", "for (int64_t i = 0; i < n; i++) {\n        int64_t key", "for (int64_t i = 0; i < 1; i++) {\n        int64_t key"),
    ),
    *_of(
        "names.c",
        ("user names are not shortened", 'codes->is_user ? strcspn(text, "/:") : strlen(text)', "strlen(text)"),
        ("user names are cut at / alone", 'strcspn(text, "/:")', 'strcspn(text, "/")'),
        ("user names are cut at : alone", 'strcspn(text, "/:")', 'strcspn(text, ":")'),
        ("unknown names have the first code", "items[i].integer;\n    }\n    return CZ_UNKNOWN;", "items[i].integer;\n    }\n    return 0;"),
    ),
)  # fmt: skip

FLASH_CACHE = (
    *_of(
        "flash.c",
        ("the most recently used is evicted", "return cz_tail(&flash->rings, head);", "return flash->rings.after[head];"),
        ("the most recent block gives up a segment", "cz_tail(&flash->blocks.rings, capacity);", "flash->blocks.rings.after[capacity];"),
        ("FIFO in place of LRU", "        cz_unlink(&flash->rings, slot);\n        cz_link(&flash->rings, head, slot);\n        unit.slot", "        unit.slot"),
        ("FIFO of blocks", "                use_block(flash, head);\n", ""),
        ("what lies beyond a request's first block is of it", "if (k == 0 || (first + k) % flash->options.per_block == 0) {", "if (k == 0) {"),
        ("writes invalidate nothing", "        if (slot != CZ_NO_NODE)\n            leave(flash, slot);\n", ""),
        ("an invalidated segment holds its room", "        if (slot != CZ_NO_NODE)\n            leave(flash, slot);\n",
         "        if (slot != CZ_NO_NODE) {\n            cz_index_remove(&flash->index, slot);\n"
         "            cz_index_add(&flash->index, slot, flash->volume, -1 - slot); /* which none asks for */\n        }\n"),
        ("what is prefetched enters last",
         "    for (int64_t k = flash->count; k < flash->n_units; k++)\n        enter(flash, &flash->units[k]);\n"
         "    for (int64_t k = 0; k < flash->count; k++) {\n        if (flash->units[k].outcome == 1)\n            enter(flash, &flash->units[k]);\n    }\n",
         "    for (int64_t k = 0; k < flash->n_units; k++) {\n        if (flash->units[k].outcome == 1)\n            enter(flash, &flash->units[k]);\n    }\n"),
        ("what is missed enters in falling order", "    for (int64_t k = 0; k < flash->count; k++) {\n        if (flash->units[k].outcome == 1)",
         "    for (int64_t k = flash->count - 1; k >= 0; k--) {\n        if (flash->units[k].outcome == 1)"),
        ("one segment less fits", "if (flash->used == flash->options.capacity) {", "if (flash->used >= flash->options.capacity - 1) {"),
        ("prefetch ends a segment early", "index < most; index++", "index < most - 1; index++"),
        ("prefetch on rejected misses", "if (accepted > 0 && (", "if (("),
        ("all_on_partial on every miss", "(access->hits > 0 || !verdict->on_partial)", "true"),
        ("all_on_partial only without hits", "(access->hits > 0 || !verdict->on_partial)", "(access->hits == 0 || !verdict->on_partial)"),
        ("resident segments are fetched again",
         "if ((at >= 0 && at < flash->count) ||\n            cz_index_find(&flash->index, flash->volume, flash->first + at) != CZ_NO_NODE)",
         "if (at >= 0 && at < flash->count)"),
    ),
    *_of(
        "flash_set.c",
        ("the I/O is not widened", "        low = unit->number < low ? unit->number : low;\n        high = unit->number > high ? unit->number : high;\n",
         "        if (i < count) {\n            low = unit->number < low ? unit->number : low;\n            high = unit->number > high ? unit->number : high;\n        }\n"),
        ("the I/O counts what is missing", "columns[3] = high < 0 ? 0 : (int32_t)(high - low + 1);", "columns[3] = request->op == CZ_READ ? (int32_t)count - access.hits : 0;"),
        ("written counts the misses alone", "written += unit->outcome == 1;", "written += unit->outcome == 1 && i < count;"),
    ),
)  # fmt: skip

TOUCH = _of(
    "history.c",
    ("reads touch segments whatever the bundle says", "*by_block = block;", "*by_block = false;"),
    ("reads touch blocks whatever the bundle says", "*by_block = block;", "*by_block = true;"),
)

PLAIN_MODES = _of(
    "modes.c",
    ("next(n) begins at the request's last", "low = last + 1 < per_block ? last + 1 : per_block;", "low = last < per_block ? last : per_block;"),
    ("next(n) fetches one less", "high = low + mode->ahead < per_block ? low + mode->ahead : per_block;", "high = low + mode->ahead - 1 < per_block ? low + mode->ahead - 1 : per_block;"),
    ("all_on_miss is all_on_partial", "verdict->on_partial = mode->kind == CZ_ALL_ON_PARTIAL;", "verdict->on_partial = mode->kind != CZ_NO_PREFETCH;"),
    ("all_on_partial is all_on_miss", "verdict->on_partial = mode->kind == CZ_ALL_ON_PARTIAL;", "verdict->on_partial = false;"),
    ("no prefetch in any plain mode", "mode->kind == CZ_NO_PREFETCH ? 0 : per_block", "0"),
    ("next(n) is all_on_miss", "if (mode->kind == CZ_NEXT) {", "if (false) {"),
)  # fmt: skip

WRITE_RATE = (
    *_of(
        "kind_admission.c",
        ("above the threshold, not at it", "score >= threshold;", "score > threshold;"),
        ("no write rate is kept", "stream->controller ? stream->controller->threshold : model->threshold", "model->threshold"),
        ("missing is all that a read touches", "score, count - row[1], row[2]", "score, count, row[2]"),
        ("what is prefetched is not written", "score, count - row[1], row[2]", "score, count - row[1], row[2] - row[3]"),
        ("reads that hit are told of too", "request->op == CZ_READ && row[1] < count)", "request->op == CZ_READ)"),
    ),
    *_of(
        "controller.c",
        ("the rate is in bytes", "own->rate = bytes_s / (double)segment_bytes / 1e6;", "own->rate = bytes_s / 1e6;"),
        ("time begins at 0", "        own->start = now;\n        own->last = now;\n", "        own->last = now;\n"),
        ("the first step begins at 0", "        own->start = now;\n        own->last = now;\n", "        own->start = now;\n"),
        ("a bin is of reads, not of segments", "own->mass[b] += (double)missing;", "own->mass[b] += 1.0;"),
        ("a bin is of what was written", "own->mass[b] += (double)missing;", "own->mass[b] += (double)written;"),
        ("scores beyond the last bin are lost", "? rules->bins - 1 : place > 0.0", "? 0 : place > 0.0"),
        ("bins are rounded", "(int64_t)place : 0;", "(int64_t)(place + 0.5 < (double)rules->bins ? place + 0.5 : place) : 0;"),
        ("a bin is its low end", "- rules->width * (left / own->mass[b]);", "- rules->width;"),
        ("a bin is its high end", "- rules->width * (left / own->mass[b]);", ";"),
        ("the lowest bin first", "for (int64_t b = rules->bins - 1; b >= 0; b--) {\n        if", "for (int64_t b = 0; b < rules->bins; b++) {\n        if"),
        ("nothing is forgotten", "own->mass[b] *= rules->keep;", ";"),
        ("reads are not forgotten with their segments", "    own->count *= rules->keep;\n    own->span", "    own->span"),
        ("time is not forgotten with its reads", "    own->span *= rules->keep;\n", ""),
        ("what was promised is not forgotten", "    own->promised *= rules->keep;\n", ""),
        ("what was written is not forgotten", "    own->wrote *= rules->keep;\n", ""),
        ("the load is of long ago", "    own->recent *= rules->keep_recent;\n    own->recent_span *= rules->keep_recent;\n",
         "    own->recent *= rules->keep;\n    own->recent_span *= rules->keep;\n"),
        ("the threshold is not held at first", "if (own->misses >= rules->hold) {", "if (true) {"),
        ("the threshold is held a read longer", "if (own->misses >= rules->hold) {", "if (own->misses > rules->hold) {"),
        ("what is held back is not promised", "    if (own->misses < rules->hold && score >= own->threshold)\n        own->promised += (double)missing;\n", ""),
        ("rejected reads are promised too", "own->misses < rules->hold && score >= own->threshold", "own->misses < rules->hold"),
        ("a step is one read shorter", "if (own->since >= rules->step)", "if (own->since >= rules->step - 1.0)"),
        ("no balance", "own->rate * (now - own->start) - own->written;", "0.0;"),
        ("credit has no end", "if (balance > most) {", "if (false) {"),
        ("lost credit comes back", "        own->written += balance - most;\n", ""),
        ("debt has no end", "bool overdrawn = balance < -own->rate * rules->horizon_us * MOST_DEBT;", "bool overdrawn = false;"),
        ("debt ends at once", "bool overdrawn = balance < -own->rate * rules->horizon_us * MOST_DEBT;", "bool overdrawn = balance < 0.0;"),
        ("the load is not looked at", "if (rules->follows_load && own->recent_span > 0.0) {", "if (false) {"),
        ("the load is always looked at", "if (rules->follows_load && own->recent_span > 0.0) {", "if (own->recent_span > 0.0) {"),
        ("no root of the load", "load = sqrt((own->span * own->recent) / (own->count * own->recent_span));", "load = (own->span * own->recent) / (own->count * own->recent_span);"),
        ("quiet in place of busy", "load = sqrt((own->span * own->recent) / (own->count * own->recent_span));",
         "load = sqrt((own->count * own->recent_span) / (own->span * own->recent));"),
        ("the load has no least", "load = load < LEAST_LOAD ? LEAST_LOAD : load > MOST_LOAD ? MOST_LOAD : load;", "load = load > MOST_LOAD ? MOST_LOAD : load;"),
        ("the load has no most", "load = load < LEAST_LOAD ? LEAST_LOAD : load > MOST_LOAD ? MOST_LOAD : load;", "load = load < LEAST_LOAD ? LEAST_LOAD : load;"),
        ("more than the balance is spent", "    if (share > 1.0)\n        share = 1.0;\n", ""),
        ("promises are believed", "    if (own->promised > 0.0) {", "    if (false) {"),
        ("promises have no least", "        ratio = ratio < LEAST_RATIO ? LEAST_RATIO : ratio;\n", ""),
        ("a promise is of all that was left", "own->ahead = (allowed - left) / own->count * rules->step;", "own->ahead = allowed / own->count * rules->step;"),
        ("a promise is of one read", "own->ahead = (allowed - left) / own->count * rules->step;", "own->ahead = (allowed - left) / own->count;"),
    ),
)  # fmt: skip

ADMISSION = (*HISTORIES, *FLASH_CACHE, *TOUCH, *PLAIN_MODES, *WRITE_RATE)

CACHES = (
    *_of(
        "manager.c",
        ("no demotion", "m->accesses - m->nodes[page].stamp < m->rules.period", "m->accesses - m->nodes[page].stamp < INT64_MAX"),
        ("demotion an access late", "m->accesses - m->nodes[page].stamp < m->rules.period", "m->accesses - m->nodes[page].stamp <= m->rules.period"),
        ("the top is not protected", "            if (m->nodes[page].top) {\n                clock_on", "            if (false) {\n                clock_on"),
        ("protected pages keep their old clock's place", "for (;;) {", "for (int once = 0; once < 1; once++) {"),
        ("the top's share is rounded up", "m->length[q] * m->rules.percent / 100", "(m->length[q] * m->rules.percent + 99) / 100"),
        ("a demoted page enters at the tail", "enter_head(m, page, q - 1);", "enter_tail(m, page, q - 1);"),
        ("demoted two queues down", "enter_head(m, page, q - 1);\n                clock_on(m, page, q - 1);", "enter_head(m, page, 0);\n                clock_on(m, page, 0);"),
        ("late is never demoted", "for (int q = MEAN - 1; q <= LATE - 1; q++) {", "for (int q = MEAN - 1; q <= MEAN - 1; q++) {"),
        ("late before mean", "for (int q = MEAN - 1; q <= LATE - 1; q++) {", "for (int q = LATE - 1; q >= MEAN - 1; q--) {"),
        ("the head is evicted", "take_out(m, cz_tail(&m->used, sentinel(m, q)))", "take_out(m, m->used.after[sentinel(m, q)])"),
        ("late is evicted first", "    int q = 0;\n    while (m->length[q] == 0)\n        q++;", "    int q = 2;\n    while (m->length[q] == 0)\n        q--;"),
        ("the dirty flag is lost on eviction", ".dirty = m->nodes[page].dirty}", ".dirty = 0}"),
        ("an admitted write is clean", "m->nodes[page].dirty = write;", "m->nodes[page].dirty = 0;"),
        ("a write hit is clean", "    if (write)\n        m->nodes[page].dirty = 1;\n", ""),
        ("a hit does not move its page", "enter_head(m, page, held - 1);", "enter_tail(m, page, held - 1);"),
        ("requeue goes to the head of soon", "enter_tail(m, page, SOON - 1);", "enter_head(m, page, SOON - 1);"),
        ("requeue goes to the tail of its queue", "enter_head(m, page, queue - 1);", "enter_tail(m, page, queue - 1);"),
        ("requeue does nothing", "if (!m->rules.requeue) {", "if (true) {"),
        ("a hit starts the clock anew", "enter_head(m, page, held - 1);", "enter_head(m, page, held - 1);\n        cz_unlink(&m->entered, page);\n        clock_on(m, page, held - 1);"),
        ("free space is not filled", "queue == ABSENT && m->rules.fill && m->spares ? SOON : queue", "queue"),
        ("free space is always filled", "queue == ABSENT && m->rules.fill && m->spares", "queue == ABSENT && m->spares"),
        ("what fills free space goes to mean", "m->spares ? SOON : queue", "m->spares ? MEAN : queue"),
        ("above the threshold, not at it", "if (outputs[0] < threshold)", "if (outputs[0] <= threshold)"),
        ("a tie goes to the later queue", "outputs[queue] > outputs[best]", "outputs[queue] >= outputs[best]"),
        ("the single queue is soon", "if (single)\n        return MEAN;", "if (single)\n        return SOON;"),
        ("single is not read", "    if (single)\n        return MEAN;\n", ""),
        ("the clock counts requests", "m->accesses += count;", "m->accesses += 1;"),
        ("demotion before the request is counted", "    m->accesses += count;\n    demote(m);\n", "    demote(m);\n    m->accesses += count;\n"),
        ("misses enter before hits move", "for (int64_t k = 0; k < count; k++) {\n        units[k] =", "for (int64_t k = count - 1; k >= 0; k--) {\n        units[k] ="),
        ("the queue is told though it was not asked", "        if (!m->rules.requeue)\n            served->queue = -1;\n", ""),
    ),
    *_of("kind_caching.c", ("the period is in pages of the queue", "model->demote_capacities * capacity", "model->demote_capacities")),
)  # fmt: skip

SEQUENCES = (
    *_of(
        "sequence.c",
        ("regions are hashed without + 1", "s->horizons.region_bytes + 1)", "s->horizons.region_bytes)"),
        ("regions are not hashed", " * UINT64_C(0x9E3779B97F4A7C15);\n    cz_region *region = &s->regions[key >> (64 - s->horizons.region_bits)];",
         ";\n    cz_region *region = &s->regions[key & ((UINT64_C(1) << s->horizons.region_bits) - 1)];"),
        ("pages are never forgotten", "page->uses == 0 || age > s->horizons.memory", "page->uses == 0"),
        ("pages are forgotten an access early", "page->uses == 0 || age > s->horizons.memory", "page->uses == 0 || age >= s->horizons.memory"),
        ("regions are forgotten an access early", "region->last >= 0 && age <= s->horizons.memory", "region->last >= 0 && age < s->horizons.memory"),
        ("regions are never forgotten", "region->last >= 0 && age <= s->horizons.memory", "region->last >= 0"),
        ("a forgotten page keeps its heat", "*page = (cz_page){0};", "*page = (cz_page){.heat = page->heat, .long_heat = page->long_heat};"),
        ("a forgotten page keeps its gap", "*page = (cz_page){0};", "*page = (cz_page){.gap = page->gap};"),
        ("a forgotten page keeps its count", "*page = (cz_page){0};", "*page = (cz_page){.uses = page->uses};"),
        ("ages count requests", "int64_t age = s->accesses - page->last;", "int64_t age = (s->accesses - page->last) / 2 + 1;"),
        ("heat halves in two capacities", "decayed(page->heat, age, (double)s->horizons.capacity)", "decayed(page->heat, age, 2 * (double)s->horizons.capacity)"),
        ("long heat halves in four capacities", "#define LONG_HALF_LIVES 8.0", "#define LONG_HALF_LIVES 4.0"),
        ("heat does not fade", "heat * exp(-0.6931471805599453 * (double)age / half_life)", "heat"),
        ("a region's heat counts requests", "region->heat = heat + (double)pages;", "region->heat = heat + 1;"),
        ("the window is an access longer", "made->horizons = *horizons;", "made->horizons = *horizons;\n    made->horizons.window++;"),
        ("pages never leave the window", "    s->oldest_live = newer(s, page);\n    s->live--;\n", "    s->oldest_live = newer(s, page);\n"),
        ("pages come back uncounted", "s->live += !live;", "s->live += !live && s->accesses < s->horizons.window;"),
        ("the last write is not remembered", "    page->wrote = request->op;\n", ""),
        ("written once is written for ever", "page->wrote = request->op;", "page->wrote |= request->op;"),
        ("a jump has no sign", "(float)(delta >= 0 ? steps : -steps)", "(float)steps"),
        ("a jump is counted from the start", "plain->end = request->offset + request->size;", "plain->end = request->offset;"),
        ("runs never end", "plain->begun && delta == 0 ? plain->run + 1 : 0", "plain->begun && delta == 0 ? plain->run + 1 : plain->run"),
        ("the first request has a run", "plain->begun && delta == 0 ? plain->run + 1 : 0", "delta == 0 ? plain->run + 1 : 0"),
        ("sums in place of means", "(float)(of.age / pages)", "(float)of.age"),
    ),
    *_of(
        "kind_caching.c",
        ("no clip", "stream->log2_capacity, model->clip)", "stream->log2_capacity, 1e30)"),
        ("the state is never reset", "    if (model->reset_every && stream->steps % model->reset_every == 0)\n        cz_lstm_state_zero(stream->state);\n", ""),
        ("the state is always reset", "    if (model->reset_every && stream->steps % model->reset_every == 0)\n        ", "    "),
        ("the state is reset a request late", "stream->steps % model->reset_every == 0", "stream->steps % model->reset_every == 1"),
    ),
    *_of(
        "network.c",
        ("ranges are not cut", "    value = cut(value, input->low, input->high);\n", ""),
        ("ranges are cut after they are normalised", "value = cut(value, input->low, input->high);", "value = cut((value - input->mean) / input->scale, input->low, input->high);"),
        ("ages in accesses, not capacities", "(input->relative ? log2_capacity : 0.0)", "0.0"),
    ),
)  # fmt: skip

WORKLOAD = (
    *_of(
        "monitor.c",
        ("a tie goes to the first class", "    if (monitor->current >= 0 && monitor->counts[monitor->current] == most)\n        return monitor->current;\n", ""),
        ("a tie goes to the last class", "    int32_t first = 0;\n    while (monitor->counts[first] < most)\n        first++;", "    int32_t first = rule->classes - 1;\n    while (monitor->counts[first] < most)\n        first--;"),
        ("one vote switches", "if (monitor->current == CZ_NO_VOTE || monitor->streak >= rule->switch_votes)", "if (true)"),
        ("a vote too many is asked for", "monitor->streak >= rule->switch_votes", "monitor->streak > rule->switch_votes"),
        ("the first vote does not count", "if (monitor->current == CZ_NO_VOTE || monitor->streak", "if (monitor->streak"),
        ("a streak goes on through other votes", "*vote == monitor->candidate ? monitor->streak + 1 : 1", "monitor->streak + 1"),
        ("unknown votes are left out", "    *vote = unsure ? CZ_STRANGE : winner(rule, monitor);\n",
         "    if (unsure) {\n        monitor->windows = 0;\n        return;\n    }\n    *vote = winner(rule, monitor);\n"),
        ("votes are never unknown", "*vote = unsure ? CZ_STRANGE : winner(rule, monitor);", "*vote = winner(rule, monitor);"),
        ("windows are never unknown", "strange > rule->window_above ? CZ_STRANGE : likeliest", "likeliest"),
        ("votes are taken of known windows alone", "i < monitor->windows; i++)\n        monitor->counts", "i < monitor->windows; i++)\n        if (monitor->strange[i] <= rule->window_above) monitor->counts"),
        ("the vote's limit is the windows'", "(double)monitor->windows > rule->vote_above;", "(double)monitor->windows > rule->window_above / 64;"),
        ("the farthest trace counts", "trace == 0 || found < least", "trace == 0 || found > least"),
        ("strangeness is a sum", "double found = total / (double)n;", "double found = total;"),
        ("deviations without moments of order 2", "sqrt(squares / (double)count)", "squares / (double)count"),
        ("deviations by one row less", "sqrt(squares / (double)count)", "sqrt(squares / (double)(count - 1))"),
        ("a vote is as strange as its strangest window", "    bool unsure = sum_of(monitor->strange, monitor->windows) / (double)monitor->windows > rule->vote_above;\n",
         "    bool unsure = false;\n    for (int32_t i = 0; i < monitor->windows; i++) unsure = unsure || monitor->strange[i] > rule->vote_above;\n"),
        ("votes follow on one another", "return every_us == 0 ||", "return true ||"),
        ("the first vote waits too", "every_us == 0 || began_us < 0 ||", "every_us == 0 ||"),
        ("a pause ends 1 us late", "time_us - began_us >= every_us", "time_us - began_us > every_us"),
        ("a pause begins with a vote's end", "    if (fills)\n        return true;\n", "    if (fills) {\n        monitor->began_us = time_us;\n        return true;\n    }\n"),
        ("what is passed over begins the pause anew", "monitor->began_us, time_us))\n        return false;\n", "monitor->began_us, time_us)) {\n        monitor->began_us = time_us;\n        return false;\n    }\n"),
        ("a vote is due at fixed times", "    monitor->began_us = time_us;\n    return true;", "    monitor->began_us = rule->every_us ? time_us - time_us % rule->every_us : time_us;\n    return true;"),
    ),
    *_of(
        "kind_workload.c",
        ("ties of classes go to the last", "found->probabilities[k] > found->probabilities[best]", "found->probabilities[k] >= found->probabilities[best]"),
        ("the rest of the requests is left out", "    if (!code && stream->window.count)\n        remake_window(model, stream, golden, number, remade);\n", ""),
        ("windows overlap by one", "const cz_request *request = &golden->requests[row];", "const cz_request *request = &golden->requests[row > 0 ? row - 1 : 0];"),
        ("no clip", "raw, 0, model->clip)", "raw, 0, 1e30)"),
    ),
    *_of(
        "window.c",
        ("addresses of two volumes are compared", "        if (other->volume != own->request.volume)\n            continue;\n", ""),
        ("touching is overlapping", "if (between < 0 &&", "if (between <= 0 &&"),
        ("age of the first overlap", "if (between < 0 && repeats++ == 0)\n            age = i - j;", "if (between < 0) repeats++, age = i - j;"),
        ("the nearest is the latest", "nearest < 0 || distance < nearest ? distance : nearest", "nearest < 0 ? distance : nearest"),
        ("no earlier request is at 0", "#define NO_EARLIER (-1.0f)", "#define NO_EARLIER 0.0f"),
        ("the lower middle", "in_order(window->starts, count, count / 2)", "in_order(window->starts, count, (count - 1) / 2)"),
        ("the mean gap counts requests", "(uint64_t)gap * (uint64_t)(count - 1)", "(uint64_t)gap * (uint64_t)count"),
        ("runs go on from window to window", "before && delta == 0 ? before->run + 1 : 0", "before && delta <= 0 ? before->run + 1 : 0"),
        ("a jump has no sign", "return distance >= 0 ? of : -of;", "return of;"),
    ),
)  # fmt: skip

REUSE = (
    *_of(
        "reuse_past.c",
        ("a rate sees its own request", "    settle(past, range->first, 0);\n    settle(past, range->first, 1);\n",
         "    settle(past, range->first + range->pages, 0);\n    settle(past, range->first + range->pages, 1);\n"),
        ("rates never settle", "j + horizon < before; j++", "j + horizon < 0; j++"),
        ("an access settles one late", "j + horizon < before; j++", "j + horizon + 1 < before; j++"),
        ("used again is counted beyond the horizon", "access & bit ? 1.0 : 0.0", "access & (SOON | AGAIN) ? 1.0 : 0.0"),
        ("a rate begins at 0", "#define PRIOR_RATE 0.3", "#define PRIOR_RATE 0.0"),
        ("counts halve in half the time", "exp2((double)(last - i) / half_life)", "exp2(2 * (double)(last - i) / half_life)"),
        ("the write share forgets slower", "#define LATEST 0.3", "#define LATEST 0.2"),
        ("a region is a stretch", "page / REGION_PAGES)", "page / STRETCH_PAGES)"),
        ("companions count the page itself", "(together - row[FOUR]) / (double)(range->pages - 1)", "together / (double)range->pages"),
        ("a run does not go on", "range->follows ? past->run + (double)range->pages : (double)range->pages", "(double)range->pages"),
        ("novelty makes no context", "(context + (page->last >= 0))", "context"),
        ("writes and reads share their rates", "SEEN_STEPS - 1) * 2 + range->write)", "SEEN_STEPS - 1) * 2)"),
        ("unknown flags are 0", "range->flags & CZ_FLAG_UNKNOWN ? -1.0f : (float)", "(float)"),
        ("intervals in accesses", "log2((double)(i - page->last) / past->capacity)", "log2((double)(i - page->last))"),
        ("regions of all volumes are one", "cz_table_find(table, range->volume, number,", "cz_table_find(table, 0, number,"),
    ),
    *_of(
        "reuse_cache.c",
        ("readahead is not told", " | (strchr(text, 'A') ? CZ_FLAG_READAHEAD : 0)", ""),
        ("requests follow on other volumes", "request->offset == cache->n.end && request->volume == cache->n.volume", "request->offset == cache->n.end"),
        ("all processes are one", ".process = request->user + 1", ".process = 0"),
        ("shadows are not told apart", "&ignored) == CZ_HIT) << k;", "&ignored) == CZ_HIT);"),
        ("a score at a cut is above it", "model->quantiles[k] < score", "model->quantiles[k] <= score"),
        ("scores are not corrected", "int class = class_of(cache, model, slot, i, metadata, score);", "int class = class_of(cache, model, slot, i, metadata, cache->scores[k]);"),
    ),
    *_of(
        "reuse_own.c",
        ("no forest of its own", "    tend(own, i);\n", ""),
        ("a forest predicts at once", "if (own->pace == 0)", "if (true)"),
        ("a forest predicts an access late", "return settled + own->delay + accesses_of(own, settled) - 1;", "return settled + own->delay + accesses_of(own, settled);"),
        ("a forest takes all accesses to the next one", "(further(settled) - settled) / 2;", "further(settled) - settled;"),
        ("the forest is grown once", "own->n.grow_end = further(own->n.grow_end);", "own->n.grow_end = INT64_MAX / 2;"),
        ("the reservoir keeps the first rows", "i < own->sample ? i : cz_scaled(cz_draw(own->seed, i), i + 1)", "i"),
        ("the reservoir keeps the latest rows", "i < own->sample ? i : cz_scaled(cz_draw(own->seed, i), i + 1)", "i % own->sample"),
        ("the own forest is always believed", "return share < 1.0 ? share : 1.0;", "return 1.0;"),
        ("the own forest is never believed", "return share < 1.0 ? share : 1.0;", "return 0.0;"),
        ("targets are read at once", "own->n.settled + own->delay < i", "own->n.settled < i"),
        ("the own forest is hardly doubted", "#define DOUBT 0.1", "#define DOUBT 0.01"),
    ),
    *_of(
        "reuse_trees.c",
        ("trees learn too fast", "#define RATE 0.2", "#define RATE 0.3"),
        ("a split of any size", "low < CZ_LEAST || high < CZ_LEAST", "low < 1 || high < 1"),
        ("equal values go high", "row[tree[t].inputs[node[t]]] > tree[t].cuts[node[t]]", "row[tree[t].inputs[node[t]]] >= tree[t].cuts[node[t]]"),
    ),
    *_of(
        "reuse_hazards.c",
        ("counts never fade", "double fade = exp2(-((double)(i - hazards->n.ranked) / (double)(HALF_LIFE * hazards->capacity)));", "double fade = 1.0;"),
        ("worth is ranked once", "if (i - hazards->n.ranked >= (every > 1 ? every : 1))", "if (false)"),
        ("worth is the hazard of the bin", "worth[b] = found > worth[b] ? found : worth[b];", "worth[b] = later > b ? worth[b] : found;"),
        ("pages that leave a bin do not count", "* CZ_AGES + b] += 1;", "* CZ_AGES + b] += 0;"),
        ("uses do not count", "    events[bin] += 1;\n", ""),
        ("bins are octaves", "ceil(2 * log2((double)age / first))", "ceil(log2((double)age / first))"),
    ),
    *_of(
        "reuse_worth.c",
        ("the page asked for always enters", "double least = worth->hazards.worth[class * CZ_AGES],", "double least = 1e300,"),
        ("the page worth most leaves", "found[k] = worth_of(worth, other->last, other->class, i);", "found[k] = -worth_of(worth, other->last, other->class, i);"),
        ("among equals the latest leaves", "low < least || last < oldest", "low < least || last > oldest"),
        ("draws do not go on", "    worth->n.drawn += n;\n", ""),
        ("all residents are compared", "bool every = worth->candidates >= worth->capacity;", "bool every = true;"),
        ("a hit does not change the class", "        worth->residents[worth->place[slot] - 1] = entry;\n", ""),
    ),
    *_of(
        "reuse_follow.c",
        ("the first leads for ever", "        if (ahead != follow->n.leader)\n            change(follow, ahead);\n", "        (void)ahead;\n"),
        ("hits weigh alike for ever", "    follow->n.weight *= follow->growth;\n", ""),
        ("leaders change on any access", "if (hit && !(hit >> follow->n.leader & 1)) {", "if (true) {"),
        ("a stray that is hit is kept", "held ? KEPT : STRAY);\n        return CZ_HIT;", "KEPT);\n        return CZ_HIT;"),
        ("strays leave latest first", "left = cz_pop_tail(follow->links, STRAY - 1);", "left = follow->links[STRAY - 1].after;\n        cz_unlink(follow->links, left);"),
    ),
    *_of(
        "reuse_azor.c",
        ("metadata is as data", "(counted + ((counted & MOST) < MOST)) | (metadata ? METADATA : 0)", "counted + 1"),
        ("counts do not grow", "(counted + ((counted & MOST) < MOST)) | (metadata ? METADATA : 0)", "1 | (metadata ? METADATA : 0)"),
    ),
    *_of(
        "reuse_lirs.c",
        ("the LIRS stack is not pruned", "    state->n.high--;\n    prune(state);\n", "    state->n.high--;\n"),
        ("LIRS has no ghosts", "    state->kind[slot] = state->kind[slot] == HIR ? GHOST : NOWHERE;\n",
         "    if (state->kind[slot] == HIR) drop_high(state, slot);\n    state->kind[slot] = NOWHERE;\n"),
    ),
    *_of(
        "reuse_s3fifo.c",
        ("S3-FIFO has no ghosts", "bool to_main = known || (", "bool to_main = ("),
        ("S3-FIFO promotes at the first use", "(state->mark[slot] & FREQUENCY) < PROMOTE", "(state->mark[slot] & FREQUENCY) < 1"),
    ),
    *_of(
        "reuse_wtinylfu.c",
        ("the candidate always wins", "    if (seen(state, state->ids[candidate]) <= seen(state, state->ids[rival]))\n        return candidate;\n", ""),
        ("the protected may fill all", "if (state->n.held[PROTECTED] > state->protected) {", "if (false) {"),
    ),
)  # fmt: skip

STREAMS = (
    *_of(
        "streams_table.c",
        ("a range begins one chunk late", "turned((uint32_t)chunk);", "turned((uint32_t)(chunk ? chunk - 1 : 0));"),
        ("a range begins one chunk early", "turned((uint32_t)chunk);", "turned((uint32_t)chunk + 1);"),
        ("the range after is taken", "own->streams[not_above(own->keys, LEAF, key) - 1]", "own->streams[not_above(own->keys, LEAF, key) % LEAF]"),
        ("the last range is not searched", "{.ranges = ranges,", "{.ranges = ranges > 1 ? ranges - 1 : 1,"),
        ("chunks beyond 128 TiB go to stream 1", "if (chunk >= MOST_CHUNKS)\n        return 0;", "if (chunk >= MOST_CHUNKS)\n        return 1;"),
        ("chunks beyond 128 TiB begin at 0 again", "if (chunk >= MOST_CHUNKS)\n        return 0;", "chunk %= MOST_CHUNKS;"),
        ("what was not learned goes to stream 1", "    return own->streams[not_above(own->keys, LEAF, key) - 1];\n",
         "    int found = own->streams[not_above(own->keys, LEAF, key) - 1];\n    return found > 1 ? found : 1;\n"),
        ("the last stream is not there", "    return own->streams[not_above(own->keys, LEAF, key) - 1];\n",
         "    int found = own->streams[not_above(own->keys, LEAF, key) - 1], most = (int)table->n_streams - 2;\n    return found < most ? found : most;\n"),
        ("ids have three bits", "own->streams[not_above(own->keys, LEAF, key) - 1]", "own->streams[not_above(own->keys, LEAF, key) - 1] % 8"),
        ("chunks of 64 KiB", "chunk = offset / CZ_CHUNK_BYTES;", "chunk = offset / (2 * CZ_CHUNK_BYTES);"),
        ("chunks of 32 KiB in decimal", "chunk = offset / CZ_CHUNK_BYTES;", "chunk = offset / 32000;"),
        ("the nearest chunk", "chunk = offset / CZ_CHUNK_BYTES;", "chunk = (offset + CZ_CHUNK_BYTES / 2) / CZ_CHUNK_BYTES;"),
        ("offsets are taken for sectors", "chunk = offset / CZ_CHUNK_BYTES;", "chunk = offset / 64;"),
        ("offsets are rounded to pages first", "chunk = offset / CZ_CHUNK_BYTES;", "chunk = (offset + 4095) / 4096 / 8;"),
        ("offsets with sign in 32 bits", "chunk = offset / CZ_CHUNK_BYTES;", "chunk = (uint64_t)((int32_t)offset / (int32_t)CZ_CHUNK_BYTES);"),
        ("offsets without sign in 32 bits", "chunk = offset / CZ_CHUNK_BYTES;", "chunk = (uint32_t)offset / CZ_CHUNK_BYTES;"),
        ("sectors in 32 bits", "chunk = offset / CZ_CHUNK_BYTES;", "chunk = (uint32_t)(offset / 512) / 64;"),
        ("chunks in float32 all the way", "chunk = offset / CZ_CHUNK_BYTES;", "chunk = (uint64_t)(float)(offset / CZ_CHUNK_BYTES);"),
    ),
    *_of(
        "kind_streams.c",
        ("the last byte decides", "int stream = cz_table_stream(model->table, (uint64_t)request->offset);", "int stream = cz_table_stream(model->table, (uint64_t)(request->offset + request->size - 1));"),
        ("the byte after the last decides", "int stream = cz_table_stream(model->table, (uint64_t)request->offset);", "int stream = cz_table_stream(model->table, (uint64_t)(request->offset + request->size));"),
        ("reads are placed", "request->op == CZ_WRITE ? stream : NOT_PLACED", "stream"),
        ("reads alone are placed", "request->op == CZ_WRITE ? stream : NOT_PLACED", "request->op != CZ_WRITE ? stream : NOT_PLACED"),
    ),
)  # fmt: skip

LIFETIME = (
    *_of(
        "lifetimes.c",
        ("a set has one place less", "    for (int k = 0; k < WAYS; k++) {\n", "    for (int k = 0; k < WAYS - 1; k++) {\n"),
        ("the newest of a set is forgotten", "set[k].last < taken->last", "set[k].last > taken->last"),
        ("the first of a set is forgotten", "(!set[k].key || set[k].last < taken->last)", "!set[k].key"),
        ("sets by the low bits alone", "(n + (n >> in->bits & HIGH) * MIX)", "(n)"),
        ("page numbers in 32 bits", "capped(number / REGION_PAGES)", "capped((int32_t)number / REGION_PAGES)"),
        ("what is forgotten keeps its life", "*taken = (record){.key = number + 1, .life = UNKNOWN, .mean = UNKNOWN};", "taken->key = number + 1;"),
        ("logarithms are whole", "((uint64_t)bits << LOG_BITS) + (number << LOG_BITS >> bits) - (1u << LOG_BITS)", "(uint64_t)bits << LOG_BITS"),
        ("logarithms of the value itself", "uint64_t number = (uint64_t)value + 1;", "uint64_t number = (uint64_t)value + !value;"),
        ("heats do not fade", "return found->heat >> (passed < 31 ? passed : 31);", "return found->heat + 0 * (int32_t)passed;"),
        ("heats fade with the age", "now / own->half_life - found->last / own->half_life", "(now - found->last) / own->half_life"),
        ("a mean of half and half", "(3 * found->mean + log) >> 2", "(found->mean + log) >> 1"),
        ("the mean is the last", "found->mean < 0 ? log : (3 * found->mean + log) >> 2", "log"),
        ("the life of chunks is their age", "        count(own, CHUNKS, number, now, life);", "        const record *chunk = find(&own->level[CHUNKS], number / 4);\n        count(own, CHUNKS, number, now, chunk ? capped(now - chunk->last) : UNKNOWN);"),
        ("regions of 512 KiB", "#define REGION_PAGES 128", "#define REGION_PAGES 64"),
        ("chunks of 16 KiB", "#define CHUNK_PAGES 4", "#define CHUNK_PAGES 2"),
        ("as many chunks as pages are kept", "#define PAGES_PER_CHUNK_KEPT 4", "#define PAGES_PER_CHUNK_KEPT 1"),
        ("the request's own pages are seen", "int64_t number = written->first + page, now = own->now + page;", "int64_t number = written->first + page, now = own->now;"),
        ("the page before is the page after", "find(&own->level[PAGES], number - 1)", "find(&own->level[PAGES], number + 1)"),
        ("a run ends where a page is written on", "(written->first == own->end || written->first == own->end + 1)", "written->first == own->end + 1"),
        ("runs count requests", "own->run = run_before(own, written) + written->pages;", "own->run = run_before(own, written) + 1;"),
        ("the first gap is 0", "own->time_us < 0 ? -1 : ", "own->time_us < 0 ? 0 : "),
        ("gaps have no end", "return (cz_written){first, pages, (float)capped(gap)};", "return (cz_written){first, pages, (float)gap};"),
        ("alignment has no end", "return bits < MOST_ALIGNED ? bits : MOST_ALIGNED;", "return bits;"),
        ("the clock counts requests", "own->now += written->pages;", "own->now += 1;"),
    ),
    *_of(
        "kind_streams.c",
        ("a prediction on a cut is above it", "model->cut[shorter] < predicted", "model->cut[shorter] <= predicted"),
        ("a part begins behind its start", "model->start[part] <= address", "model->start[part] < address"),
        ("the longest-lived class is not cut", "return shorter == model->cuts ? part :", "return shorter == model->cuts ? 0 * part :"),
        ("the shortest-lived class is the first", "model->cuts - shorter + model->starts", "shorter + 1 + model->starts"),
        ("a request goes where its first page does", "int stream = stream_of(model, predicted, (written.first + i) * CZ_FLASH_PAGE);", "int stream = stream_of(model, predicted, written.first * CZ_FLASH_PAGE);"),
        ("reads are counted", "        if (request->op != CZ_WRITE)\n            continue;\n        place(", "        if (request->op != CZ_WRITE) {\n            place(model, past, request, 0, NULL, NULL, NULL, NULL);\n            continue;\n        }\n        place("),
        ("a page is 4 KiB", "return request->offset / CZ_FLASH_PAGE;", "return request->offset / 4096;"),
    ),
)  # fmt: skip

VIRTUAL = (
    *_of(
        "queue.c",
        ("lru: a full queue keeps its last page", "        page = cz_stack_pop(stack);\n", "        page = stack->pages[stack->next - 1];\n        cz_stack_remove(stack, page);\n"),
        ("lru: a page behind the queue is still known", "        page = cz_stack_pop(stack);\n        cz_keyed_remove(&queue->keyed, page);\n", "        page = cz_stack_pop(stack);\n"),
        ("lfu: a page goes behind its class", "class->front != CZ_NO_PAGE ? class->front : before);\n    class->front = page;", "before);\n    if (class->front == CZ_NO_PAGE) class->front = page;"),
        ("lfu: a page's count outlives it", "    return (cz_move){-1, vacated, put_in(queue, page, last, CZ_NO_PAGE)};",
         "    static bool known[4096]; /* by key; some share an entry */\n"
         "    if (queue->used == 1) memset(known, 0, sizeof known);\n"
         "    cz_move move = {-1, vacated, put_in(queue, page, last, CZ_NO_PAGE)};\n"
         "    if (known[key % 4096]) move.filled = lfu_again(queue, page).filled;\n"
         "    known[key % 4096] = true;\n"
         "    return move;"),
        ("lfu: the count of a page that was asked again outlives it", "    if (page != CZ_NO_PAGE)\n        return lfu_again(queue, page);\n",
         "    static bool again[1 << 19]; /* the sets' pages have no other bits, nor volumes */\n"
         "    bool *own = &again[(key & 0xFFFF) | (key >> 19 & 1) << 16 | (key >> 32 & 1) << 17 | (key >> 51 & 1) << 18];\n"
         "    if (queue->used == 0) memset(again, 0, sizeof again);\n"
         "    if (page == CZ_NO_PAGE && *own) {\n"
         "        *own = false;\n"
         "        cz_move move = lfu(queue, key);\n"
         "        move.filled = lfu_again(queue, cz_keyed_find(&queue->keyed, key)).filled;\n"
         "        return move;\n"
         "    }\n"
         "    if (page != CZ_NO_PAGE) {\n"
         "        *own = true;\n"
         "        return lfu_again(queue, page);\n"
         "    }\n"),
        ("arc: new pages go to the head", "filled = queue->stacks[T2].live;", "filled = 0;"),
        ("arc: the target never moves", "        adapt(queue, list);\n", ""),
        ("arc: hits stay in T1", "    queue->list[page] = T2;\n    cz_stack_push(&queue->stacks[T2], page);\n    return move;",
         "    queue->list[page] = list == T1 ? T1 : T2;\n    cz_stack_push(&queue->stacks[queue->list[page]], page);\n    return move;"),
        ("arc: ghosts come back to T1", "    queue->list[page] = T2;\n    cz_stack_push(&queue->stacks[T2], page);\n    return move;",
         "    queue->list[page] = list > T2 ? T1 : T2;\n    cz_stack_push(&queue->stacks[queue->list[page]], page);\n    return move;"),
        ("arc: the end is always vacated", "return first ? often + recent - 1 : often - 1;", "return often + recent - 1;"),
    ),
    *_of(
        "virtual_map.c",
        ("of equal fragments the farthest is mapped", "for (int32_t b = 0; equals > 0 && b < of->fragments; b++) {", "for (int32_t b = of->fragments - 1; equals > 0 && b >= 0; b--) {"),
        ("a run more is kept", "while (runs > of->runs) {", "while (runs > of->runs + 1) {"),
        ("a run less is kept", "    if (found > of->runs) {\n        merge(of, found, work);",
         "    cz_worth_of fewer = *of;\n    fewer.runs -= fewer.runs > 1;\n    if (found > fewer.runs) {\n        merge(&fewer, found, work);"),
        ("of equal runs the nearest is dropped", "total(of->value, low, high), -low, run}", "total(of->value, low, high), low, run}"),
        ("the shortest run is dropped", "total(of->value, low, high), -low, run}", "high - low, -low, run}"),
        ("the worst fragment beside a run is taken", "(cz_ranked){-of->value[b], b, b}", "(cz_ranked){of->value[b], b, b}"),
        ("the farthest fragment beside a run is taken", "(cz_ranked){-of->value[b], b, b}", "(cz_ranked){-of->value[b], -b, b}"),
        ("cost is forgotten", "return found - of->cost * crossed;", "return found;"),
        ("the head only where it is worth more", "head >= *worth", "head > *worth"),
        ("with a cost the head is always mapped", "if (of->cost > 0 && head >= *worth) {", "if (of->cost > 0) {"),
    ),
    *_of(
        "virtual_view.c",
        ("a run's last position is outside", "move.position < run->high;", "move.position < run->high - 1;"),
        ("pages enter a run that begins where the move does", "move.filled < run->low && run->low <= move.vacated", "move.filled <= run->low && run->low <= move.vacated"),
        ("pages do not enter a run that begins where a place is vacated", "move.filled < run->low && run->low <= move.vacated", "move.filled < run->low && run->low < move.vacated"),
        ("values are counted where the page goes", "view->value[(uint32_t)move.position / fragment] += 1;", "view->value[(uint32_t)move.filled / fragment] += 1;"),
        ("crossings count the fragment that is left, too", "view->change[(uint32_t)move.filled / fragment + 1]++;", "view->change[(uint32_t)move.filled / fragment]++;"),
        ("crossings are never tallied", "view->crossings[b] += (double)crossed;", "view->crossings[b] += 0;"),
        ("values do not decay", "        view->value[b] *= view->settings.decay;\n", ""),
        ("crossings do not decay", "        view->crossings[b] *= view->settings.decay;\n", ""),
        ("pages are read behind the queue's end", "least_of(view->runs[r].high, view->queue.length);", "view->runs[r].high;"),
        ("what was mapped before is read again", "found -= most_of(0, least_of(", "found -= 0 * most_of(0, least_of("),
        ("pages left over are not mapped", "    if (runs[0].high == n)\n        runs[0].low = most_of(runs[0].low - capacity % fragment, 0);\n    else\n        runs[0].high = least_of(runs[0].high + capacity % fragment, n);\n", ""),
        ("pages left over go before the run", "if (runs[0].high == n)", "if (runs[0].low > 0)"),
        ("a warm start is cold", "settings->profile && b < fragments; b++)", "false && b < fragments; b++)"),
        ("a warm start counts one reference", "return (double)settings->quantum * quanta;", "return 1.0;"),
    ),
    *_of(
        "virtual.c",
        ("values decay before the mapping", "cz_view_tally(&cache->view);", "cz_view_tally(&cache->view);\n        cz_view_decay(&cache->view);"),
        ("the first quantum is one longer", "    if (++cache->since == cache->view.settings.quantum) {\n        cache->since = 0;", "    if (cache->since++ == cache->view.settings.quantum) {\n        cache->since = 1;"),
    ),
)  # fmt: skip

POLICY = (
    *_of(
        "policy_cache.c",
        ("RejectX's window is an access shorter", "return oldest >= 0 && i - oldest <= p->window;", "return oldest >= 0 && i - oldest < p->window;"),
        ("RejectX remembers misses for ever", "return oldest >= 0 && i - oldest <= p->window;", "return oldest >= 0;"),
        ("CoinFlip draws once a request", "cz_draw(p->seed, i) < p->below", "cz_draw(p->seed, (int64_t)p->n.requests) < p->below"),
        ("CoinFlip's draws know no seed", "cz_draw(p->seed, i) < p->below", "cz_draw(0, i) < p->below"),
        ("RejectX is asked about pages that are fetched ahead", "if (asked && admission == CZ_REJECT_X)", "if (admission == CZ_REJECT_X)"),
        ("accesses ahead are not numbered", "p->n.accesses += end - first;", "p->n.accesses += count;"),
        ("hits fetch ahead", "    p->fetch = false;\n", ""),
        ("a resident page that is named ahead counts as used", "    } else if (!node) {\n        settle(p, new_node(p, page->volume, page->number));\n    }\n",
         "    } else if (node) {\n        p->ops->touch(p, node, i);\n    } else {\n        settle(p, new_node(p, page->volume, page->number));\n    }\n"),
        ("writes fetch ahead", "(request->op == CZ_READ ? p->ahead : 0)", "p->ahead"),
        ("written pages are clean", "p->nodes[node].dirty |= write && p->writes != CZ_THROUGH;", "p->nodes[node].dirty |= 0;"),
        ("pages stay dirty when they come back", "    left->dirty = 0;\n", ""),
        ("pages are of the first volume", ".known = 1, .volume = volume, .slot = CZ_NONE", ".known = 1, .volume = 0, .slot = CZ_NONE"),
    ),
    *_of(
        "policy_queues.c",
        ("lru is fifo", "    cz_node_out(p->nodes, node);\n    cz_node_head(p->nodes, 0, node);\n", ""),
        ("fifo is lru", "    (void)p, (void)node, (void)i;\n", "    (void)i;\n    cz_node_out(p->nodes, node);\n    cz_node_head(p->nodes, 0, node);\n"),
        ("lru and fifo hold a page less", "    if (p->n.resident == p->capacity) {\n        victim = cz_node_pop(p->nodes, 0);\n",
         "    if (p->n.resident > 0 && p->n.resident >= p->capacity - 1) {\n        victim = cz_node_pop(p->nodes, 0);\n"),
        ("clock counts a use more than its bits hold", "p->nodes[node].mark < state->top;", "p->nodes[node].mark <= state->top;"),
        ("clock takes an entry for a use", "p->nodes[node].mark = state->first;", "p->nodes[node].mark = (uint8_t)(state->first + 1);"),
        ("clock's hand does not pass what was used", "p->nodes[victim].mark > 1; victim", "false; victim"),
        ("sieve moves used pages", "    p->nodes[node].mark = 2;\n", "    p->nodes[node].mark = 2;\n    cz_node_out(p->nodes, node);\n    cz_node_head(p->nodes, 0, node);\n"),
        ("sieve's hand begins at the tail each time", "state->n.hand = nodes[victim].before;", "state->n.hand = 0;"),
        ("sieve's hand skips a page", "state->n.hand = nodes[victim].before;", "state->n.hand = nodes[nodes[victim].before].before;"),
        ("a ghost less is remembered", "if (*live == room) {", "if (*live > 0 && *live >= room - 1) {"),
        ("s3fifo promotes after a use less", "(p->nodes[node].mark & FREQUENCY) < state->promote", "(p->nodes[node].mark & FREQUENCY) + 1 < state->promote"),
        ("s3fifo counts two uses at most", "(p->nodes[node].mark & FREQUENCY) != FREQUENCY;", "(p->nodes[node].mark & FREQUENCY) < 2;"),
        ("s3fifo's main queue is fifo", "while (p->nodes[node].mark & FREQUENCY) {", "while (false) {"),
        ("s3fifo's main queue forgets all uses at once", "        p->nodes[node].mark--;\n", "        p->nodes[node].mark = IN_MAIN;\n"),
        ("s3fifo never evicts from a main queue that is too long", "if (state->n.main <= p->capacity - state->share)", "if (true)"),
        ("s3fifo's ghosts come back to the small queue", "bool to_main = known || (", "bool to_main = ("),
        ("s3fifo's small queue fills the cache alone", "known || (!state->n.evicted && state->n.small >= state->share)", "known"),
        ("2Q moves used pages of A1in", "if (p->nodes[node].mark != AM + 1)\n        return;\n    cz_node_out(p->nodes, node);\n    cz_node_head(p->nodes, AM, node);",
         "cz_node_out(p->nodes, node);\n    cz_node_head(p->nodes, p->nodes[node].mark - 1, node);"),
        ("2Q's A1in is a page longer", "state->n.in > state->kin ||", "state->n.in > state->kin + 1 ||"),
        ("2Q's pages of Am leave ghosts", "        victim = cz_node_pop(p->nodes, AM);\n        p->nodes[victim].mark = 0;\n",
         "        victim = cz_node_pop(p->nodes, AM);\n        p->nodes[victim].mark = 0;\n        haunt(p, A1OUT, A1OUT + 1, state->room, &state->n.ghosts, victim);\n"),
    ),
    *_of(
        "policy_arc.c",
        ("ARC's target moves by one page", "step = step > 1.0 ? step : 1.0;", "step = 1.0;"),
        ("ARC's target is only passed, never met", "(was_in_b2 && recent == state->n.target)", "false"),
        ("ARC's target moves the other way", "target = where == B1 ?", "target = where == B2 ?"),
        ("ARC's hits stay in T1", "enter(p, state->n.length, T2, node);", "enter(p, state->n.length, p->nodes[node].mark - 1, node);"),
        ("ARC remembers a page less", "== 2 * p->capacity ? B2", ">= 2 * p->capacity - 1 && length[B2] > 0 ? B2"),
        ("LARC's filter grows by one page", "size = state->n.size + capacity / state->n.size;", "size = state->n.size + 1.0;"),
        ("LARC's filter never shrinks", "size = state->n.size - capacity / (capacity - state->n.size);", "size = state->n.size;"),
        ("LARC's filter fills the cache", "most = 0.9 * capacity", "most = capacity"),
    ),
    *_of(
        "policy_lirs.c",
        ("LIRS prunes at no hit", "        if (lowest)\n            prune(p, state);\n", ""),
        ("LIRS's stack is a page shorter", "state->n.low + state->n.high > state->longest", "state->n.low + state->n.high >= state->longest"),
        ("LIRS promotes no resident page", "    if (mark == HIR) {", "    if (false) {"),
        ("LIRS holds a page more that comes back late", "return hirs > 1 ? hirs : 1;", "return hirs + (hirs < capacity);"),
        ("LIRS remembers no ghosts", "p->nodes[node].mark == HIR ? GHOST : NOWHERE;", "NOWHERE;"),
    ),
    *_of(
        "policy_wtinylfu.c",
        ("W-TinyLFU's ties go to the candidate", "<= seen(state, p->nodes[rival].id)", "< seen(state, p->nodes[rival].id)"),
        ("W-TinyLFU never halves its counts", "state->table[k] >>= 1;", "state->table[k] >>= 0;"),
        ("W-TinyLFU raises every cell", "*cell[k] = *cell[k] < raised ? raised : *cell[k];", "*cell[k] += *cell[k] < LIMIT;"),
        ("W-TinyLFU protects pages of the window", "was == WINDOW ? WINDOW : PROTECTED", "PROTECTED"),
        ("W-TinyLFU protects a page more", "state->n.held[PROTECTED] > state->protected", "state->n.held[PROTECTED] > state->protected + 1"),
        ("W-TinyLFU counts hits alone", "    count(state, cell);\n    return victim;", "    return victim;"),
    ),
    *_of(
        "policy_lfu.c",
        ("of equal counts the newest leaves", "left->last < right->last", "left->last > right->last"),
        ("counts survive eviction", "state->own[node] = (rank){1, i};", "state->own[node] = (rank){state->own[node].count + 1, i};"),
        ("uses of pages that were used once do not count", "p->nodes[node].mark == HEAPED ? HEAPED : AGAIN;", "p->nodes[node].mark;"),
        ("entries never learn of later uses", "    freshen(state, NULL);\n", ""),
    ),
)  # fmt: skip

MUTANTS = {
    "admission": ADMISSION, "caching": (*CACHES, *SEQUENCES), "workload": WORKLOAD, "reuse": REUSE,
    "streams": STREAMS, "lifetime": LIFETIME, "virtual": VIRTUAL, "policy": POLICY,
}  # fmt: skip
