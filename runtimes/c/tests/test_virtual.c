/* Virtual caches and shares: what the cache holds against a set of pages that is walked, what is refused, saved states. */
#include <stdint.h>
#include <unistd.h>

#include "test.h"
#include "virtual.h"

static cz_error error;
static char folder[] = "/tmp/cz_virtual_XXXXXX";
static uint64_t state = 88172645463325252ULL;

static const char *path_of(const char *name) {
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static uint64_t drawn(uint64_t limit) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return (state >> 20) % limit;
}

static const cz_virtual_settings SMALL = {.fragment = 4, .runs = 2, .pages = 64, .quantum = 20, .decay = 0.5};

/* A loop longer than the cache, and hot pages. */
static uint64_t key_at(int i) {
    return i % 3 ? (uint64_t)(i % 50) : 100 + drawn(6);
}

/* ---- a cache that is a set of pages ---- */

enum { N = 64, QUANTUM = 20 };
typedef struct held {
    uint64_t pages[N];
    bool in_cache[N];
    int length;
} held;

static bool mapped(const cz_run *runs, int count, int position) {
    bool found = false;
    for (int r = 0; r < count; r++)
        found = found || (runs[r].low <= position && position < runs[r].high);
    return found;
}

/* Move a page to the head; pages whose positions are mapped then must be in the cache: those that were not are read. */
static int settle(held *own, const cz_run *runs, int count, uint64_t asked) {
    int read = 0;
    for (int i = 0; i < own->length; i++) {
        bool wanted = mapped(runs, count, i);
        read += wanted && !own->in_cache[i] && own->pages[i] != asked;
        own->in_cache[i] = wanted;
    }
    return read;
}

static void ask(held *own, uint64_t key, int *position) {
    int at = 0;
    while (at < own->length && own->pages[at] != key)
        at++;
    *position = at < own->length ? at : -1;
    if (at == own->length)
        at = own->length < N ? own->length++ : N - 1;
    for (; at > 0; at--) {
        own->pages[at] = own->pages[at - 1];
        own->in_cache[at] = own->in_cache[at - 1];
    }
    own->pages[0] = key;
    own->in_cache[0] = true;
}

static void test_against_a_set(void) {
    static held own;
    cz_virtual *cache;
    cz_place place;
    cz_run before[CZ_MOST_RUNS], after[CZ_MOST_RUNS];
    int far = 0, moved = 0;
    REQUIRE(cz_virtual_new(&SMALL, 18, &cache, &error) == CZ_OK);
    for (int i = 0; i < 3000; i++) {
        uint64_t key = key_at(i);
        int position, count = cz_virtual_runs(cache, before);
        ask(&own, key, &position);
        REQUIRE(cz_virtual_reference(cache, key, &place) == CZ_OK);
        CHECK(place.position == position && place.hit == (position >= 0 && mapped(before, count, position)));
        int read = settle(&own, before, count, key), now = cz_virtual_runs(cache, after), pages = 0;
        if ((i + 1) % QUANTUM == 0)
            read += settle(&own, after, now, UINT64_MAX);
        else
            CHECK(now == count && memcmp(before, after, (size_t)count * sizeof *before) == 0);
        CHECK(place.moved == read);
        for (int r = 0; r < now; r++)
            pages += (int)(after[r].high - after[r].low);
        CHECK(now >= 1 && now <= SMALL.runs && pages == 18);
        far += after[now - 1].low > 0;
        moved += read;
    }
    CHECK(far > 100 && moved > 100);
    cz_virtual_free(cache);
}

/* ---- shares ---- */

static void test_a_share_goes_where_it_is_worth_more(void) {
    cz_virtual_settings both[2] = {SMALL, SMALL};
    cz_share *share;
    cz_place place;
    cz_run runs[CZ_MOST_RUNS];
    both[1].quantum = 30;
    REQUIRE(cz_share_new(&(cz_share_options){.pages = 67}, both, 2, &share, &error) == CZ_OK);
    CHECK(cz_share_pages(share, 0) == 32 && cz_share_pages(share, 1) == 32);
    for (int i = 0; i < 1000; i++) { /* the first asks 48 pages evenly, the second two in turns */
        CHECK(cz_share_reference(share, 0, drawn(48), &place) == CZ_OK);
        CHECK(cz_share_reference(share, 1, (uint64_t)(i % 2), &place) == CZ_OK && place.position == (i > 1 ? 1 : -1));
        CHECK(cz_share_pages(share, 0) + cz_share_pages(share, 1) == 64);
    }
    CHECK(cz_share_pages(share, 0) >= 48 && cz_share_pages(share, 1) >= 8);
    CHECK(cz_share_runs(share, 0, runs) == 1 && runs[0].low == 0 && cz_share_runs(share, 1, runs) >= 1);
    CHECK(cz_share_reference(share, 2, 0, &place) == CZ_BAD_CALL &&
          cz_share_reference(share, -1, 0, &place) == CZ_BAD_CALL);
    CHECK(cz_share_reference(NULL, 0, 0, &place) == CZ_BAD_CALL &&
          cz_share_reference(share, 0, 0, NULL) == CZ_BAD_CALL);
    CHECK(cz_share_pages(share, 2) == 0 && cz_share_runs(share, 2, runs) == 0 && cz_share_pages(NULL, 0) == 0);
    cz_share_free(share);
    cz_share_free(NULL);
}

static void test_bad_calls(void) {
    cz_virtual *cache = (cz_virtual *)&error;
    cz_share *share = (cz_share *)&error;
    cz_virtual_settings own = SMALL, two[2] = {SMALL, SMALL};
    cz_place place;
    CHECK(cz_virtual_new(NULL, 8, &cache, &error) == CZ_BAD_CALL && cache == NULL);
    CHECK(cz_virtual_new(&own, 8, NULL, &error) == CZ_BAD_CALL);
    own.queue = 3;
    CHECK(cz_virtual_new(&own, 8, &cache, &error) == CZ_BAD_CALL && strstr(error.text, "queue"));
    CHECK(cz_virtual_new(&SMALL, 7, &cache, NULL) == CZ_BAD_CALL &&
          cz_virtual_new(&SMALL, 65, &cache, &error) == CZ_BAD_CALL);
    CHECK(cz_virtual_new(&SMALL, INT64_MIN, &cache, &error) == CZ_BAD_CALL);
    CHECK(cz_virtual_reference(NULL, 0, &place) == CZ_BAD_CALL && cz_virtual_runs(NULL, NULL) == 0);
    CHECK(cz_virtual_settings_of(NULL, &own, &error) == CZ_BAD_CALL);
    CHECK(cz_share_new(NULL, two, 2, &share, &error) == CZ_BAD_CALL && share == NULL);
    const cz_share_options wrong[] = {{.pages = -1},
                                      {.pages = 64, .step = -1},
                                      {.pages = 64, .reach = 4097},
                                      {.pages = 64, .fill = -1},
                                      {.pages = 64, .fill = (double)NAN},
                                      {.pages = INT64_MAX},
                                      {.pages = 15}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        CHECK(cz_share_new(&wrong[i], two, 2, &share, &error) == CZ_BAD_CALL && share == NULL);
        CHECK(error.text[0] && !strchr(error.text, '\n'));
    }
    two[1].fragment = 0;
    CHECK(cz_share_new(&(cz_share_options){.pages = 64}, two, 2, &share, &error) == CZ_BAD_CALL);
    two[0].fragment = 0;
    CHECK(cz_share_new(&(cz_share_options){.pages = 64}, two, 2, &share, &error) == CZ_BAD_CALL);
}

/* ---- saved states ---- */

static unsigned char *read_whole(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    REQUIRE(file && fseek(file, 0, SEEK_END) == 0);
    *size = (size_t)ftell(file);
    rewind(file);
    unsigned char *data = malloc(*size + 1);
    REQUIRE(data && fread(data, 1, *size, file) == *size);
    fclose(file);
    return data;
}

static void write_whole(const char *path, const void *data, size_t size) {
    FILE *file = fopen(path, "wb");
    REQUIRE(file && fwrite(data, 1, size, file) == size && fclose(file) == 0);
}

/* The checksum is put right, so that what is read must hold by itself. */
static void write_forged(const unsigned char *data, size_t size) {
    char sum[65];
    cz_sha256_of(data, size - 64, sum);
    unsigned char *forged = malloc(size);
    REQUIRE(forged);
    memcpy(forged, data, size);
    memcpy(forged + size - 64, sum, 64);
    write_whole(path_of("forged"), forged, size);
    free(forged);
}

static void forge(unsigned char *data, size_t size, size_t at) {
    unsigned char kept = data[at];
    data[at] = (unsigned char)(kept + 0x85);
    write_forged(data, size);
    data[at] = kept;
}

/* Numbers of 8 bytes at a place, the first byte the least. */
static void write_with(const unsigned char *data, size_t size, size_t at, const int64_t *numbers, size_t count) {
    unsigned char *changed = malloc(size);
    REQUIRE(changed && at + 8 * count <= size - 64);
    memcpy(changed, data, size);
    for (size_t i = 0; i < 8 * count; i++)
        changed[at + i] = (unsigned char)((uint64_t)numbers[i / 8] >> i % 8 * 8);
    write_forged(changed, size);
    free(changed);
}

static void test_states(int queue) {
    cz_virtual_settings own = SMALL;
    cz_virtual *cache, *other;
    cz_place place, wanted;
    size_t size;
    int refused = 0, taken = 0;
    own.queue = queue;
    REQUIRE(cz_virtual_new(&own, 18, &cache, &error) == CZ_OK && cz_virtual_new(&own, 18, &other, &error) == CZ_OK);
    for (int i = 0; i < 700; i++)
        cz_virtual_reference(cache, key_at(i), &place);
    REQUIRE(cz_virtual_save(cache, path_of("state"), &error) == CZ_OK);
    REQUIRE(cz_virtual_restore(other, path_of("state"), &error) == CZ_OK);
    unsigned char *data = read_whole(path_of("state"), &size);
    for (size_t at = 0; at < size; at += 7) {
        write_whole(path_of("damaged"), data, at);
        CHECK(cz_virtual_restore(cache, path_of("damaged"), &error) == CZ_BAD_STATE);
    }
    for (size_t at = 8; at < size - 64; at += at < 300 ? 1 : 5) {
        cz_virtual *fresh;
        REQUIRE(cz_virtual_new(&own, 18, &fresh, &error) == CZ_OK);
        forge(data, size, at);
        int result = cz_virtual_restore(fresh, path_of("forged"), &error);
        CHECK(result == CZ_OK || (result == CZ_BAD_STATE && !strchr(error.text, '\n')));
        refused += result != CZ_OK;
        taken += result == CZ_OK;
        for (int i = 0; i < 300; i++)
            CHECK(cz_virtual_reference(fresh, key_at(i), &place) == CZ_OK);
        cz_virtual_free(fresh);
    }
    CHECK(refused > 50 && taken > 20);
    for (int i = 0; i < 500; i++) { /* what was refused changed nothing */
        uint64_t key = key_at(i);
        cz_virtual_reference(cache, key, &wanted);
        cz_virtual_reference(other, key, &place);
        CHECK(memcmp(&wanted, &place, sizeof place) == 0);
    }
    CHECK(cz_virtual_save(cache, "/nowhere/at/all", &error) == CZ_IO &&
          cz_virtual_restore(cache, folder, &error) == CZ_IO);
    CHECK(cz_virtual_save(NULL, "x", &error) == CZ_BAD_CALL && cz_virtual_restore(cache, NULL, &error) == CZ_BAD_CALL);
    free(data);
    cz_virtual_free(cache);
    cz_virtual_free(other);
}

/* A file ends with changes of 17 numbers, the number of runs in 4 bytes, the runs and the checksum. */
static size_t changes_at(size_t size, int runs) {
    return size - 64 - 16 * (size_t)runs - 4 - 17 * 8;
}

static void test_forged_numbers_are_refused(void) {
    enum { FRAGMENTS = 16 };
    const int64_t most = (int64_t)1 << 41;
    cz_virtual *cache;
    cz_run runs[CZ_MOST_RUNS];
    size_t size;
    REQUIRE(cz_virtual_new(&SMALL, 18, &cache, &error) == CZ_OK && cz_virtual_runs(cache, runs) == 1);
    REQUIRE(cz_virtual_save(cache, path_of("state"), &error) == CZ_OK);
    unsigned char *data = read_whole(path_of("state"), &size);
    const int64_t sound[FRAGMENTS + 1] = {0, 3, 0, -1, [16] = -2}, whole[] = {0, 18};
    const int64_t wrong[][FRAGMENTS + 1] = {
        {-1, 1}, {0, 1}, {[15] = 1}, {most, 1, -1, -most}, {0, most + 1, -most - 1}, {INT64_MAX, 1}, {2, -3, 1}};
    write_with(data, size, changes_at(size, 1), sound, FRAGMENTS + 1);
    CHECK(cz_virtual_restore(cache, path_of("forged"), &error) == CZ_OK);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        write_with(data, size, changes_at(size, 1), wrong[i], FRAGMENTS + 1);
        CHECK(cz_virtual_restore(cache, path_of("forged"), &error) == CZ_BAD_STATE && strstr(error.text, "damaged"));
    }
    write_with(data, size, size - 64 - 16, whole, 2);
    CHECK(cz_virtual_restore(cache, path_of("forged"), &error) == CZ_OK);
    write_with(data, size, size - 64 - 16, (const int64_t[]){0, 19}, 2);
    CHECK(cz_virtual_restore(cache, path_of("forged"), &error) == CZ_BAD_STATE && strstr(error.text, "more pages"));
    free(data);
    cz_virtual_free(cache);
}

static void test_a_forged_share_maps_no_more_than_its_part(void) {
    const cz_virtual_settings both[2] = {SMALL, SMALL};
    cz_share *share;
    cz_run runs[CZ_MOST_RUNS];
    size_t size;
    REQUIRE(cz_share_new(&(cz_share_options){.pages = 64}, both, 2, &share, &error) == CZ_OK);
    REQUIRE(cz_share_runs(share, 1, runs) == 1 && cz_share_save(share, path_of("share"), &error) == CZ_OK);
    unsigned char *data = read_whole(path_of("share"), &size);
    write_with(data, size, size - 64 - 16, (const int64_t[]){0, 32}, 2);
    CHECK(cz_share_restore(share, path_of("forged"), &error) == CZ_OK);
    write_with(data, size, size - 64 - 16, (const int64_t[]){0, 36}, 2);
    CHECK(cz_share_restore(share, path_of("forged"), &error) == CZ_BAD_STATE && strstr(error.text, "other pages"));
    free(data);
    cz_share_free(share);
}

static void test_states_of_shares(void) {
    cz_virtual_settings both[2] = {SMALL, SMALL};
    cz_share *share, *other, *wider;
    cz_virtual *cache;
    cz_place place, wanted;
    both[1].queue = CZ_QUEUE_ARC;
    REQUIRE(cz_share_new(&(cz_share_options){.pages = 64}, both, 2, &share, &error) == CZ_OK &&
            cz_share_new(&(cz_share_options){.pages = 64}, both, 2, &other, &error) == CZ_OK &&
            cz_share_new(&(cz_share_options){.pages = 72}, both, 2, &wider, &error) == CZ_OK &&
            cz_virtual_new(&SMALL, 18, &cache, &error) == CZ_OK);
    for (int i = 0; i < 500; i++)
        cz_share_reference(share, i % 2, i % 2 ? drawn(3) : key_at(i), &place);
    REQUIRE(cz_share_save(share, path_of("share"), &error) == CZ_OK);
    CHECK(cz_share_restore(wider, path_of("share"), &error) == CZ_BAD_STATE && strstr(error.text, "other pages"));
    CHECK(cz_virtual_restore(cache, path_of("share"), &error) == CZ_BAD_STATE);
    REQUIRE(cz_share_restore(other, path_of("share"), &error) == CZ_OK);
    for (int i = 0; i < 500; i++) {
        uint64_t key = key_at(i);
        cz_share_reference(share, i % 2, key, &wanted);
        cz_share_reference(other, i % 2, key, &place);
        CHECK(memcmp(&wanted, &place, sizeof place) == 0 && cz_share_pages(share, 0) == cz_share_pages(other, 0));
    }
    cz_share_free(share);
    cz_share_free(other);
    cz_share_free(wider);
    cz_virtual_free(cache);
}

int main(void) {
    REQUIRE(mkdtemp(folder));
    test_against_a_set();
    test_a_share_goes_where_it_is_worth_more();
    test_bad_calls();
    for (int queue = CZ_QUEUE_LRU; queue <= CZ_QUEUE_ARC; queue++)
        test_states(queue);
    test_forged_numbers_are_refused();
    test_a_forged_share_maps_no_more_than_its_part();
    test_states_of_shares();
    const char *left[] = {"state", "damaged", "forged", "share"};
    for (size_t i = 0; i < sizeof left / sizeof *left; i++)
        CHECK(unlink(path_of(left[i])) == 0);
    CHECK(rmdir(folder) == 0); /* no temporary file is left */
    return TEST_END();
}
