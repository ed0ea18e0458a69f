/* Requests through cz_cache: cache_run BUNDLE CAPACITY [PREFETCH]
 *
 * From stdin int64[n][5]: time_us, op, offset, size, volume. To stdout int32[n][6]: hits, misses, written, prefetched,
 * io_units, evicted. It keeps a device of its own, unit by slot, and ends where a hit's slot does not hold its unit, a
 * slot is given away while it is taken, or a victim is not where it is said to be. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cachezoo.h"

typedef struct held {
    int64_t number;
    int32_t volume; /* -1: nothing */
} held;

static void end(const char *what) {
    fprintf(stderr, "cache_run: %s\n", what);
    exit(1);
}

static int is_at(const held *device, int32_t slot, const cz_unit *unit) {
    return slot >= 0 && device[slot].number == unit->number && device[slot].volume == unit->volume;
}

/* A page cache may evict for each unit as it enters, so a slot can change hands twice; only the ends are compared. */
static void follow(held *device, const cz_access *access) {
    for (int64_t k = 0; k < access->n_units; k++) {
        if (access->units[k].outcome == 2 && !is_at(device, access->units[k].slot, &access->units[k]))
            end("a hit's slot holds another unit");
    }
    for (int64_t k = 0; k < access->n_victims; k++) {
        const cz_unit *victim = &access->victims[k];
        if (is_at(device, victim->slot, victim))
            device[victim->slot].volume = -1;
    }
    for (int64_t k = 0; k < access->n_units; k++) {
        const cz_unit *unit = &access->units[k];
        if (unit->outcome != 1 || unit->slot < 0)
            continue;
        if (device[unit->slot].volume != -1)
            end("a unit enters a slot that is taken");
        device[unit->slot] = (held){unit->number, unit->volume};
    }
}

static cz_stream *stream_of(const char *path, int64_t capacity, cz_bundle **of, cz_error *error) {
    cz_bundle *bundle;
    cz_stream *stream;
    cz_stream_options options = {.capacity = capacity};
    if (cz_open(path, CZ_FP32, &bundle, error) != CZ_OK || cz_stream_new(bundle, &options, &stream, error) != CZ_OK)
        end(error->text);
    *of = bundle;
    return stream;
}

static void name_volumes(cz_stream *stream) {
    for (int k = 0; k < 16; k++) {
        char name[16];
        snprintf(name, sizeof name, "v%d", k);
        if (cz_intern(stream, CZ_VOLUME, name) != k)
            end("a volume has another number");
    }
}

int main(int n, char **words) {
    if (n < 3 || n > 4)
        end("usage: cache_run BUNDLE CAPACITY [PREFETCH]");
    cz_error error;
    int64_t row[5], capacity = atoll(words[2]);
    cz_bundle *bundle;
    cz_stream *streams[2] = {stream_of(words[1], capacity, &bundle, &error), NULL};
    name_volumes(streams[0]);
    cz_cache *cache;
    cz_cache_options options = {.mode = CZ_MODEL, .capacity = capacity, .prefetch = n > 3 ? words[3] : NULL};
    held *device = malloc((size_t)capacity * sizeof *device);
    if (!device || cz_cache_new(&options, streams, &cache, &error) != CZ_OK)
        end(device ? error.text : "no memory");
    for (int64_t slot = 0; slot < capacity; slot++)
        device[slot].volume = -1;
    while (fread(row, sizeof *row, 5, stdin) == 5) {
        cz_request request = {row[0],     row[2],     row[3],     (int32_t)row[4],
                              CZ_UNKNOWN, CZ_UNKNOWN, CZ_UNKNOWN, (uint8_t)row[1]};
        cz_access access;
        if (cz_cache_access(cache, &request, &access) != CZ_OK)
            end("a request is refused");
        follow(device, &access);
        int32_t made[6] = {access.hits,       access.misses,   access.written,
                           access.prefetched, access.io_units, access.evicted};
        fwrite(made, sizeof *made, 6, stdout);
    }
    cz_counters counters;
    cz_cache_stats(cache, &counters);
    int64_t resident = 0;
    for (int64_t slot = 0; slot < capacity; slot++)
        resident += device[slot].volume != -1;
    if (resident != (int64_t)counters.keys)
        end("the counters say another number of resident units");
    cz_cache_free(cache);
    free(device);
    cz_stream_free(streams[0]);
    cz_close(bundle);
    return 0;
}
