#include "turns.h"

#include <stdlib.h>
#include <string.h>

#include "index.h"

enum { NOT_ASKED = 255 };

/* The last request of one or several resident pages. */
typedef struct row {
    float raw[CZ_N_RAW];
    int64_t stamp;  /* page accesses before it */
    int32_t pages;  /* that have it */
    uint8_t wanted; /* what the model says that takes over */
} row;

struct cz_turns {
    cz_stream *stream, *monitor;
    const cz_bundle *bundles[CZ_MAX_OUTPUTS]; /* of each category, or NULL */
    int64_t capacity;
    int32_t spares;
    cz_rings recent; /* of slots, also of those without a page; the head was used last */
    int32_t *row_of; /* of a slot; -1: its page was not asked for yet */
    row *rows;
    int32_t *spare; /* rows without a page */
    struct {
        int32_t *slots;
        uint8_t *queues;
        int64_t *stamps;
    } held; /* of a takeover */
    cz_following seen;
};

static int32_t place_of(const cz_bundle *monitor, const char *category) {
    const char *name;
    for (int32_t k = 0; (name = cz_category(monitor, k)) != NULL; k++)
        if (strcmp(name, category) == 0)
            return k;
    return CZ_UNKNOWN;
}

/* Put the bundle at its category's place. */
static int take(cz_turns *turns, const cz_bundle *bundle, cz_error *error) {
    cz_info info;
    cz_error why = {0};
    cz_bundle_info(bundle, &info);
    const char *where = cz_bundle_where(bundle);
    if (info.kind != CZ_CACHING)
        return cz_fail(error, CZ_BAD_CALL, "%.200s: not a bundle of kind caching", where);
    int32_t place = place_of(turns->monitor->bundle, info.category);
    if (place == CZ_UNKNOWN)
        return cz_fail(error, CZ_BAD_CALL, "%.200s: its category '%.64s' is none that %.128s names", where,
                       info.category, cz_bundle_where(turns->monitor->bundle));
    if (turns->bundles[place])
        return cz_fail(error, CZ_BAD_CALL, "%.200s: there is another model of category %.64s", where, info.category);
    if (cz_caching_may_follow(turns->stream, cz_bundle_model(bundle), &why) != CZ_OK)
        return cz_fail(error, CZ_BAD_CALL, "%.200s: %.200s", where, why.text);
    turns->bundles[place] = bundle;
    return CZ_OK;
}

static int take_all(cz_turns *turns, const cz_bundle *const *bundles, int32_t count, cz_error *error) {
    int code = cz_caching_may_follow(turns->stream, turns->stream->model, error);
    for (int32_t k = 0; code == CZ_OK && k < count; k++)
        code = bundles[k] ? take(turns, bundles[k], error)
                          : cz_fail(error, CZ_BAD_CALL, "models that take turns: one is NULL");
    return code;
}

static bool get_memory(cz_turns *made) {
    size_t n = (size_t)made->capacity;
    made->row_of = malloc(n * sizeof *made->row_of);
    made->rows = calloc(n + 1, sizeof *made->rows);
    made->spare = malloc((n + 1) * sizeof *made->spare);
    made->held.slots = malloc(n * sizeof *made->held.slots);
    made->held.queues = malloc(n * sizeof *made->held.queues);
    made->held.stamps = malloc(n * sizeof *made->held.stamps);
    return made->row_of && made->rows && made->spare && made->held.slots && made->held.queues && made->held.stamps &&
           cz_rings_new(&made->recent, made->capacity, 1) == 0;
}

int cz_turns_new(int64_t capacity, cz_stream *stream, cz_stream *monitor, const cz_bundle *const *bundles,
                 int32_t count, cz_turns **turns, cz_error *error) {
    *turns = NULL;
    if (!monitor || monitor->ops->kind != CZ_WORKLOAD)
        return cz_fail(error, CZ_BAD_CALL, "models take turns by the stream of a workload bundle");
    if (!bundles || count < 1)
        return cz_fail(error, CZ_BAD_CALL, "models that take turns: none is given");
    cz_turns *made = calloc(1, sizeof *made);
    if (!made)
        return cz_fail(error, CZ_NO_MEMORY, "no memory for models that take turns");
    *made = (cz_turns){.stream = stream, .monitor = monitor, .capacity = capacity};
    int code = take_all(made, bundles, count, error);
    if (code == CZ_OK && !get_memory(made))
        code = cz_fail(error, CZ_NO_MEMORY, "no memory for the last requests of %lld pages", (long long)capacity);
    if (code != CZ_OK) {
        cz_turns_free(made);
        return code;
    }
    for (int32_t slot = 0; slot < capacity; slot++) {
        made->row_of[slot] = -1;
        cz_link(&made->recent, (int32_t)capacity, slot);
    }
    for (int64_t k = capacity; k >= 0; k--)
        made->spare[made->spares++] = (int32_t)k;
    made->seen.category = made->seen.decides = CZ_UNKNOWN;
    *turns = made;
    return CZ_OK;
}

void cz_turns_free(cz_turns *turns) {
    if (!turns)
        return;
    cz_rings_free(&turns->recent);
    free(turns->row_of);
    free(turns->rows);
    free(turns->spare);
    free(turns->held.slots);
    free(turns->held.queues);
    free(turns->held.stamps);
    free(turns);
}

/* What the stream's model wants of a page, each request asked about once. */
static uint8_t wanted(cz_turns *turns, row *last) {
    if (last->wanted == NOT_ASKED) {
        last->wanted = (uint8_t)cz_caching_alone(turns->stream, last->raw);
        turns->seen.asked++;
    }
    return last->wanted;
}

static void take_over(cz_turns *turns, const cz_bundle *bundle, cz_manager *manager) {
    cz_rules rules;
    int64_t n = 0;
    cz_caching_go_on(turns->stream, bundle, cz_bundle_model(bundle));
    cz_caching_rules(turns->stream->model, turns->capacity, &rules);
    cz_manager_set_rules(manager, &rules);
    for (int64_t k = 0; k <= turns->capacity; k++)
        turns->rows[k].wanted = NOT_ASKED;
    int32_t head = (int32_t)turns->capacity;
    for (int32_t slot = cz_tail(&turns->recent, head); slot != head; slot = turns->recent.before[slot]) {
        int32_t queue = cz_manager_queue(manager, slot), of = turns->row_of[slot];
        if (!queue)
            continue;
        turns->held.slots[n] = slot;
        turns->held.queues[n] = of < 0 ? (uint8_t)queue : wanted(turns, &turns->rows[of]);
        turns->held.stamps[n++] = of < 0 ? 0 : turns->rows[of].stamp;
    }
    turns->seen.takeovers++;
    turns->seen.moved +=
        (uint64_t)cz_manager_requeue(manager, turns->held.slots, turns->held.queues, turns->held.stamps, n);
}

int cz_turns_before(cz_turns *turns, const cz_request *request, cz_manager *manager) {
    cz_ticket ticket;
    int code = cz_observe(turns->monitor, request, &ticket);
    if (code != CZ_OK)
        return code;
    turns->seen.category = ticket.category;
    const cz_bundle *next = ticket.category >= 0 ? turns->bundles[ticket.category] : NULL;
    if (next && next != turns->stream->bundle)
        take_over(turns, next, manager);
    if (next)
        turns->seen.decides = ticket.category;
    return CZ_OK;
}

static void let_go(cz_turns *turns, int32_t slot) {
    int32_t before = turns->row_of[slot];
    if (before >= 0 && --turns->rows[before].pages == 0)
        turns->spare[turns->spares++] = before;
}

void cz_turns_note(cz_turns *turns, const cz_manager *manager, const cz_unit *units, int64_t n, int64_t stamp) {
    int32_t of = turns->spare[--turns->spares]; /* there is one: each slot has a row at most */
    row *last = &turns->rows[of];
    last->pages = 1; /* this function */
    last->stamp = stamp;
    cz_caching_raw(turns->stream, last->raw);
    for (int64_t k = 0; k < n; k++) {
        int32_t slot = units[k].slot;
        if (slot < 0 || !cz_manager_holds(manager, slot, units[k].volume, units[k].number))
            continue;
        let_go(turns, slot);
        turns->row_of[slot] = of;
        last->pages++;
        cz_turns_put(turns, slot);
    }
    if (--last->pages == 0)
        turns->spare[turns->spares++] = of;
}

void cz_turns_put(cz_turns *turns, int32_t slot) {
    cz_unlink(&turns->recent, slot);
    cz_link(&turns->recent, (int32_t)turns->capacity, slot);
}

void cz_turns_stats(const cz_turns *turns, cz_following *following) {
    *following = turns->seen;
}

size_t cz_turns_bytes(const cz_turns *turns) {
    size_t each = 3 * sizeof *turns->row_of + sizeof *turns->rows + sizeof *turns->spare + sizeof *turns->held.slots +
                  sizeof *turns->held.queues + sizeof *turns->held.stamps;
    return sizeof *turns + (size_t)turns->capacity * each;
}
