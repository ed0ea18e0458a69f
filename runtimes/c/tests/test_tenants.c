/* Caches of several tenants: states are taken back as they were, and a forged one is refused, or harms nothing (run it
 * under the sanitizers for that). What they serve is compared with the simulator in tests/unit/runtimes/test_tenants.py. */
#include <unistd.h>

#include "forged.h"
#include "saved.h"
#include "test.h"

enum { TENANTS = 3 };
static const char *const POLICIES[] = {"azor", "lfu", "lirs", "lru", "s3fifo", "wtinylfu"};
static cz_error error;
static char path[] = "/tmp/cz_tenants_XXXXXX";

/* Six shared caches, two fixed splits, and UCP. */
static cz_tenants *made(int way) {
    static const cz_tenant splits[2][TENANTS] = {{{"lru", 20}, {"wtinylfu", 30}, {"lirs", 9}},
                                                 {{"azor", 12}, {"s3fifo", 25}, {"lfu", 17}}};
    cz_tenants_options options = {.how = CZ_TENANTS_UCP, .pages = 60, .fragment = 4, .window = 25};
    if (way < 6)
        options = (cz_tenants_options){.how = CZ_TENANTS_SHARED, .pages = 50, .policy = POLICIES[way]};
    else if (way < 8)
        options = (cz_tenants_options){.how = CZ_TENANTS_FIXED, .each = splits[way - 6]};
    cz_tenants *tenants;
    REQUIRE(cz_tenants_new(&options, TENANTS, &tenants, &error) == CZ_OK);
    return tenants;
}
enum { WAYS = 9 };

static void refer(cz_tenants *tenants, int64_t first, int64_t end) {
    cz_tenant_access access;
    for (int64_t i = first; i < end; i++) {
        uint64_t mixed = (uint64_t)(i + 1) * UINT64_C(0x9E3779B97F4A7C15) >> 32;
        REQUIRE(cz_tenants_reference(tenants, (int32_t)(mixed % TENANTS), mixed >> 8 & (i % 3 ? 31 : 255), &access) ==
                CZ_OK);
        for (int64_t k = 0; k < access.n_victims; k++)
            CHECK(access.victims[k].tenant >= 0 && access.victims[k].tenant < TENANTS);
    }
}

static unsigned char *saved(const cz_tenants *tenants, size_t *size) {
    unsigned char *data;
    REQUIRE(cz_tenants_save(tenants, path, &error) == CZ_OK && cz_read_file(path, &data, size, &error) == CZ_OK);
    return data;
}

/* The first restore may put pages of one bucket in another order, which decides nothing. */
static void test_states_are_taken_back(int way) {
    cz_tenants *tenants = made(way);
    for (int64_t at = 0, next = 1; next < 2000; at = next, next += 1 + next / 3) {
        size_t size, again;
        refer(tenants, at, next);
        REQUIRE(cz_tenants_save(tenants, path, &error) == CZ_OK && cz_tenants_restore(tenants, path, &error) == CZ_OK);
        unsigned char *data = saved(tenants, &size);
        REQUIRE(cz_tenants_restore(tenants, path, &error) == CZ_OK);
        unsigned char *same = saved(tenants, &again);
        CHECK(size == again && memcmp(data, same, size) == 0);
        free(data);
        free(same);
    }
    cz_tenants_free(tenants);
}

static void test_forged_states_do_no_harm(int way) {
    cz_tenants *tenants = made(way);
    size_t size;
    int refused = 0, tries = getenv("CZ_FORGED") ? atoi(getenv("CZ_FORGED")) : 60;
    refer(tenants, 0, 1500);
    unsigned char *data = saved(tenants, &size), *forged = malloc(size + 1);
    REQUIRE(forged);
    size -= CZ_CHECKSUM;
    for (int i = 0; i < tries; i++) {
        memcpy(forged, data, size);
        forge(forged, size);
        REQUIRE(cz_write_state(path, forged, size, &error) == CZ_OK);
        int result = cz_tenants_restore(tenants, path, &error);
        CHECK(result == CZ_OK || (result == CZ_BAD_STATE && !strchr(error.text, '\n')));
        refused += result != CZ_OK;
        if (result == CZ_OK)
            refer(tenants, 1500, 1800);
    }
    CHECK(refused > tries / 20);
    free(forged);
    free(data);
    cz_tenants_free(tenants);
}

static void test_bad_calls(void) {
    cz_tenants *tenants;
    cz_tenant_access access;
    CHECK(cz_tenants_new(NULL, 2, &tenants, &error) == CZ_BAD_CALL && !tenants);
    CHECK(cz_tenants_new(NULL, 2, NULL, &error) == CZ_BAD_CALL);
    tenants = made(8);
    CHECK(cz_tenants_reference(tenants, TENANTS, 1, &access) == CZ_BAD_CALL);
    CHECK(cz_tenants_reference(NULL, 0, 1, &access) == CZ_BAD_CALL);
    CHECK(cz_tenants_reference(tenants, 0, 1, NULL) == CZ_BAD_CALL);
    CHECK(cz_tenants_pages(tenants, -1) == 0 && cz_tenants_resident(NULL, 0) == 0);
    CHECK(cz_tenants_save(tenants, NULL, &error) == CZ_BAD_CALL);
    CHECK(cz_tenants_restore(NULL, path, &error) == CZ_BAD_CALL);
    cz_tenants_free(tenants);
    cz_tenants_free(NULL);
}

int main(void) {
    int file = mkstemp(path);
    REQUIRE(file >= 0 && close(file) == 0);
    for (int way = 0; way < WAYS; way++) {
        test_states_are_taken_back(way);
        test_forged_states_do_no_harm(way);
    }
    test_bad_calls();
    unlink(path);
    return TEST_END();
}
