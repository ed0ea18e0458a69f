/* The stored rows of a cache that two applications share are found again, reference by reference: tests/golden/share. */
#include <inttypes.h>
#include <stdbool.h>

#include "cachezoo.h"
#include "test.h"

static const char *const rows = "tests/golden/share/rows.csv"; /* from the repository's root */

/* As tests/golden/make_share.py has them. */
static const cz_virtual_settings both[2] = {
    {.queue = CZ_QUEUE_LRU, .pages = 64, .fragment = 4, .runs = 2, .decay = 0.9, .quantum = 25, .cost = 0.05},
    {.queue = CZ_QUEUE_ARC, .pages = 64, .fragment = 4, .runs = 2, .decay = 0.9, .quantum = 25, .cost = 0.05}};
static const cz_share_options options = {.pages = 60, .step = 1, .reach = 3, .fill = 0.02};

typedef struct row {
    int32_t application, position, hit, moved;
    uint64_t key;
    int64_t split[2];
} row;

static bool next_row(FILE *file, row *own) {
    return fscanf(file, "%" SCNd32 ",%" SCNu64 ",%" SCNd32 ",%" SCNd32 ",%" SCNd32 ",%" SCNd64 ",%" SCNd64,
                  &own->application, &own->key, &own->position, &own->hit, &own->moved, &own->split[0],
                  &own->split[1]) == 7;
}

int main(void) {
    cz_share *share;
    cz_error error;
    cz_place place;
    row own;
    int count = 0;
    REQUIRE(cz_share_new(&options, both, 2, &share, &error) == CZ_OK);
    FILE *file = fopen(rows, "r");
    REQUIRE(file);
    REQUIRE(fscanf(file, "%*[^\n]") == 0); /* the head */
    for (; next_row(file, &own); count++) {
        CHECK(cz_share_reference(share, own.application, own.key, &place) == CZ_OK);
        CHECK(place.position == own.position && place.hit == own.hit && place.moved == own.moved);
        CHECK(cz_share_pages(share, 0) == own.split[0] && cz_share_pages(share, 1) == own.split[1]);
    }
    CHECK(count == 900 && feof(file));
    fclose(file);
    cz_share_free(share);
    return TEST_END();
}
