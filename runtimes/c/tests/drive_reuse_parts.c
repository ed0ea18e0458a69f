/* Runs one part of kind reuse over numbers from stdin, for the tests in Python.
 *
 *   drive_reuse_parts NAME CAPACITY            a classic: int32 page, metadata of each access; out int32 outcome, victim
 *   drive_reuse_parts worth CAPACITY CANDIDATES SEED CLASSES
 *                                              float64 events and risks, then int32 page, class; out as above
 *   drive_reuse_parts own CAPACITY TREES ROWS PACE SEED
 *                                              int32 page, float32 score, 26 inputs; out float32 score in use,
 *                                              int32 units of growing that the access did
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reuse_parts.h"

enum { MOST_PAGES = 1 << 16 };

static cz_memory memory;
static cz_table table;
static cz_page *pages;

static void fail(const char *what) {
    fprintf(stderr, "drive_reuse_parts: %s\n", what);
    exit(1);
}

static int32_t find(int32_t page) {
    static uint64_t request;
    static uint32_t ids;
    bool found;
    int32_t slot = cz_table_find(&table, 0, page, ++request, &found);
    if (!found)
        pages[slot] = (cz_page){.last = -1, .row = CZ_NONE, .id = ids++};
    return slot;
}

static void report(int outcome, int32_t victim) {
    int32_t row[2] = {outcome, victim == CZ_NONE ? CZ_NONE : (int32_t)table.keys[victim].number};
    fwrite(row, sizeof row, 1, stdout);
}

static void run_classic(enum cz_classic_name name, int64_t capacity) {
    cz_classic classic;
    int32_t given[2], victim;
    cz_classic_new(&classic, name, &memory, &table, capacity);
    for (int64_t i = 0; fread(given, sizeof given, 1, stdin) == 1; i++) {
        int32_t slot = find(given[0]);
        int outcome = cz_classic_serve(&classic, slot, pages[slot].id, i, given[1] != 0, &victim);
        report(outcome, victim);
    }
}

static void run_worth(int64_t capacity, char **values) {
    int classes = atoi(values[2]);
    size_t counts = (size_t)classes * CZ_AGES;
    double *prior = malloc(2 * counts * sizeof *prior);
    if (!prior || fread(prior, sizeof *prior, 2 * counts, stdin) != 2 * counts)
        fail("no counts");
    cz_worth worth = {.candidates = atoll(values[0]), .seed = (uint32_t)atoll(values[1])};
    int32_t given[2], victim;
    cz_hazards_new(&worth.hazards, &memory, capacity, classes, prior, prior + counts);
    cz_worth_new(&worth, &memory, &table, capacity);
    for (int64_t i = 0; fread(given, sizeof given, 1, stdin) == 1; i++) {
        int32_t slot = find(given[0]);
        int outcome = cz_worth_serve(&worth, slot, &pages[slot], i, given[1], &victim);
        report(outcome, victim);
        pages[slot].last = i;
        pages[slot].class = (uint8_t)given[1];
    }
    free(prior);
}

static void run_own(int64_t capacity, char **values) {
    struct {
        int32_t page;
        float score, row[CZ_INPUTS];
    } given;
    cz_own own = {0};
    cz_own_new(&own, &memory, capacity, atoll(values[0]), atoll(values[1]), atoll(values[2]),
               (uint32_t)atoll(values[3]));
    for (int64_t i = 0; fread(&given, sizeof given, 1, stdin) == 1; i++) {
        cz_page *page = &pages[find(given.page)];
        int64_t before = i == own.n.grow_end + own.delay ? 0 : own.grower.done;
        float used = cz_own_correct(&own, page, i, given.row, given.score);
        int32_t units = (int32_t)(own.grower.done - before);
        page->last = i;
        fwrite(&used, sizeof used, 1, stdout);
        fwrite(&units, sizeof units, 1, stdout);
    }
}

int main(int argc, char **argv) {
    if (argc < 3)
        fail("NAME CAPACITY [...]");
    cz_table_new(&table, &memory, MOST_PAGES);
    pages = cz_memory_room(&memory, (size_t)table.most, sizeof *pages, &table.n.used);
    int64_t capacity = atoll(argv[2]);
    if (strcmp(argv[1], "worth") == 0 && argc == 6)
        run_worth(capacity, argv + 3);
    else if (strcmp(argv[1], "own") == 0 && argc == 7)
        run_own(capacity, argv + 3);
    else if (cz_classic_named(argv[1]) != CZ_CLASSICS)
        run_classic(cz_classic_named(argv[1]), capacity);
    else
        fail("no such part");
    cz_memory_free(&memory);
    return 0;
}
