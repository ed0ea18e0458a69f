/* A cache of kind policy on requests from stdin, for the tests that compare it with the simulator.
 *
 * policy_run parse: texts, a line each. Out: the canonical text of each, or "! " and why it is refused.
 * policy_run access TEXT: int64 capacity, max_keys, writes; then for each request int64 volume, op, offset, size. Out: for
 *     each access int64 page, the victim's page (-1: none), volume, outcome | victim dirty << 8 | victim void << 9; at the
 *     end int64 keys, forgotten, bytes, 0.
 * policy_run cache TEXT, or a bundle's PATH with a slash in it: the same head, then rows of int64 what (0 request, 1 drop, 2 put), volume, op or slot, offset, size.
 *     It serves them by cz_cache and keeps a device of its own: it ends where a hit's slot does not hold its page, or a slot
 *     is given away that does. Out: of a request int64 outcome of each of its own pages, then how many were prefetched; of a
 *     drop how many pages left, of a put the result; at the end -1, and int64 hits, admitted, prefetched, evicted. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy.h"

enum { PAGE = 4096 };

static void wrong(const char *what) {
    fprintf(stderr, "policy_run: %s\n", what);
    exit(1);
}

static bool take(int64_t *numbers, size_t count) {
    return fread(numbers, sizeof *numbers, count, stdin) == count;
}

static void give(const int64_t *numbers, size_t count) {
    if (fwrite(numbers, sizeof *numbers, count, stdout) != count)
        wrong("stdout is closed");
}

static void parse(void) {
    char line[4096], text[CZ_MOST_POLICY_TEXT];
    cz_policy_plan plan;
    cz_error error;
    while (fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\n")] = 0;
        if (cz_policy_parse(line, &plan, &error))
            printf("! %s\n", error.text);
        else if (cz_policy_text(&plan, text, sizeof text) >= sizeof text)
            wrong("a canonical text is too long");
        else
            printf("%s\n", text);
    }
}

static cz_stream *stream_of(const char *text, const int64_t head[3], cz_bundle **bundle) {
    cz_stream *stream;
    cz_error error;
    if ((strchr(text, '/') ? cz_open(text, CZ_FP32, bundle, &error) : cz_policy(text, bundle, &error)) ||
        cz_stream_new(*bundle, &(cz_stream_options){.capacity = head[0], .max_keys = head[1]}, &stream, &error))
        wrong(error.text);
    if (cz_intern(stream, CZ_VOLUME, "0") != 0 || cz_intern(stream, CZ_VOLUME, "1") != 1)
        wrong("no volumes");
    return stream;
}

static void access_all(const char *text) {
    int64_t head[3], row[4], n;
    const cz_policy_page *pages;
    cz_bundle *bundle;
    cz_counters counters;
    if (!take(head, 3))
        wrong("no head");
    cz_stream *stream = stream_of(text, head, &bundle);
    cz_policy_set_writes(stream, (enum cz_writes)head[2]);
    while (take(row, 4)) {
        cz_request request = {.volume = (int32_t)row[0], .op = (uint8_t)row[1], .offset = row[2], .size = row[3]};
        if (cz_policy_access(stream, &request, &pages, &n))
            wrong("a request was refused");
        for (int64_t k = 0; k < n; k++)
            give((int64_t[]){pages[k].number, pages[k].victim_volume < 0 ? -1 : pages[k].victim_number,
                             pages[k].victim_volume,
                             pages[k].outcome | pages[k].victim_dirty << 8 | pages[k].victim_void << 9},
                 4);
    }
    cz_stats(stream, &counters);
    give((int64_t[]){(int64_t)counters.keys, (int64_t)counters.forgotten, (int64_t)counters.bytes, 0}, 4);
    cz_stream_free(stream);
    cz_close(bundle);
}

/* ---- a cache and its device ---- */

static bool is(const cz_unit *one, const cz_unit *other) {
    return one->number == other->number && one->volume == other->volume;
}

static void follow(cz_unit *device, const cz_access *access) {
    for (int64_t k = 0; k < access->n_units; k++)
        if (access->units[k].outcome == 2 && !is(&device[access->units[k].slot], &access->units[k]))
            wrong("a hit's slot holds another page");
    for (int64_t k = 0; k < access->n_victims; k++) {
        cz_unit *slot = &device[access->victims[k].slot];
        bool passed = false; /* it entered in this access */
        for (int64_t at = 0; at < access->n_units; at++)
            passed |= is(&access->units[at], &access->victims[k]) && access->units[at].slot < 0 &&
                      access->units[at].outcome == 1;
        if (is(slot, &access->victims[k]))
            slot->volume = -1;
        else if (!passed)
            wrong("a victim's slot held another page");
    }
    for (int64_t k = 0; k < access->n_units; k++)
        if (access->units[k].outcome == 1 && access->units[k].slot >= 0) {
            if (device[access->units[k].slot].volume != -1)
                wrong("a slot was given away that holds a page");
            device[access->units[k].slot] = access->units[k];
        }
}

static void serve_row(cz_cache *cache, cz_unit *device, const int64_t row[5]) {
    int32_t volume = (int32_t)row[1];
    cz_access access;
    if (row[0] == 2) {
        int result = cz_cache_put(cache, volume, row[3] / PAGE, (int32_t)row[2]);
        if (result == CZ_OK)
            device[row[2]] = (cz_unit){.number = row[3] / PAGE, .volume = volume};
        give(&(int64_t){result}, 1);
        return;
    }
    cz_request request = {.volume = volume,
                          .op = (uint8_t)row[2],
                          .offset = row[3],
                          .size = row[4],
                          .name_space = CZ_UNKNOWN,
                          .user = CZ_UNKNOWN,
                          .flags = CZ_UNKNOWN};
    if (row[0] == 1 ? cz_cache_drop(cache, volume, row[3], row[4], &access) : cz_cache_access(cache, &request, &access))
        wrong("a request was refused");
    follow(device, &access);
    if (row[0] == 1) {
        give(&access.n_victims, 1);
        return;
    }
    for (int64_t k = 0; k < access.hits + access.misses; k++)
        give(&(int64_t){access.units[k].outcome}, 1);
    give(&(int64_t){access.prefetched}, 1);
}

static void run_cache(const char *text) {
    int64_t head[3], row[5];
    cz_bundle *bundle;
    cz_cache *cache;
    cz_counters counters;
    cz_error error;
    if (!take(head, 3))
        wrong("no head");
    cz_stream *stream = stream_of(text, head, &bundle);
    cz_cache_options options = {.mode = CZ_MODEL, .capacity = head[0], .max_request = 1 << 20};
    if (cz_cache_new_writes(&options, (enum cz_writes)head[2], (cz_stream *[]){stream, NULL}, &cache, &error))
        wrong(error.text);
    cz_unit *device = calloc((size_t)head[0], sizeof *device);
    if (!device)
        wrong("no memory");
    for (int64_t slot = 0; slot < head[0]; slot++)
        device[slot].volume = -1;
    while (take(row, 5))
        serve_row(cache, device, row);
    cz_cache_stats(cache, &counters);
    give((int64_t[]){-1, (int64_t)counters.hits, (int64_t)counters.admitted, (int64_t)counters.prefetched,
                     (int64_t)counters.evicted},
         5);
    free(device);
    cz_cache_free(cache);
    cz_stream_free(stream);
    cz_close(bundle);
}

int main(int count, char **arguments) {
    const char *what = count > 1 ? arguments[1] : "";
    if (strcmp(what, "parse") == 0)
        parse();
    else if (count == 3 && strcmp(what, "access") == 0)
        access_all(arguments[2]);
    else if (count == 3 && strcmp(what, "cache") == 0)
        run_cache(arguments[2]);
    else
        wrong("parse, access TEXT or cache TEXT?");
    return 0;
}
