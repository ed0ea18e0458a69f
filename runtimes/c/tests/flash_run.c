/* Runs the flash cache on requests from stdin and writes what became of each, for the tests that compare it with the
 * simulator. It keeps a device of its own, unit by slot, and ends where a hit's slot does not hold its unit.
 *
 * stdin: int64 capacity, per_block, max_units, window, max_misses, by_block; then for each request int64 op, volume, first,
 * count, admit, low, high, on_partial. stdout: int32 hits, written, prefetched, io_units, evicted for each request. */
#include <stdio.h>
#include <stdlib.h>

#include "flash.h"

typedef struct held {
    int64_t number;
    int32_t volume; /* -1: nothing */
} held;

static void wrong(const char *what) {
    fprintf(stderr, "flash_run: %s\n", what);
    exit(1);
}

static void follow(held *device, int64_t capacity, const cz_access *access) {
    for (int64_t k = 0; k < access->n_units; k++) {
        const cz_unit *unit = &access->units[k];
        if (unit->outcome == 2 &&
            (device[unit->slot].number != unit->number || device[unit->slot].volume != unit->volume))
            wrong("a hit's slot holds another unit");
    }
    for (int64_t k = 0; k < access->n_victims; k++) {
        const cz_unit *victim = &access->victims[k];
        if (victim->slot < 0 || victim->slot >= capacity)
            wrong("a victim without a slot");
        device[victim->slot].volume = -1;
    }
    for (int64_t k = 0; k < access->n_units; k++) {
        const cz_unit *unit = &access->units[k];
        if (unit->outcome != 1 || unit->slot < 0)
            continue;
        if (device[unit->slot].volume != -1)
            wrong("a unit enters a slot that is taken");
        device[unit->slot] = (held){unit->number, unit->volume};
    }
}

int main(void) {
    int64_t header[6], row[8];
    if (fread(header, sizeof *header, 6, stdin) != 6)
        wrong("no header");
    cz_flash_options options = {header[0], header[1], header[2], header[3], header[4], header[5] != 0};
    cz_error error;
    cz_flash *flash;
    if (cz_flash_new(&options, &flash, &error) != CZ_OK)
        wrong(error.text);
    held *device = malloc((size_t)options.capacity * sizeof *device);
    if (!device)
        wrong("no memory");
    for (int64_t slot = 0; slot < options.capacity; slot++)
        device[slot].volume = -1;
    while (fread(row, sizeof *row, 8, stdin) == 8) {
        cz_verdict verdict = {row[4] != 0, (int32_t)row[5], (int32_t)row[6], row[7] != 0};
        cz_access access;
        if (cz_flash_access(flash, (enum cz_op)row[0], (int32_t)row[1], row[2], row[3], &verdict, &access) != CZ_OK)
            wrong("a request is refused");
        follow(device, options.capacity, &access);
        int32_t made[5] = {access.hits, access.written, access.prefetched, access.io_units, access.evicted};
        fwrite(made, sizeof *made, 5, stdout);
    }
    free(device);
    cz_flash_free(flash);
    return 0;
}
