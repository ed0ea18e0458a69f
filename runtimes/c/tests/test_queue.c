/* Replacement queues: every move against lists that are walked. */
#include "queue.h"
#include "test.h"

enum { MOST = 4096 };

/* A queue as its words say it: keys in order, with counts; arc has four lists. */
typedef struct walked {
    uint64_t keys[4][MOST];
    int64_t counts[MOST];
    int length[4];
    double target;
} walked;

static int find(const walked *own, int list, uint64_t key) {
    for (int i = 0; i < own->length[list]; i++)
        if (own->keys[list][i] == key)
            return i;
    return -1;
}

static void take(walked *own, int list, int at) {
    for (int i = at + 1; i < own->length[list]; i++) {
        own->keys[list][i - 1] = own->keys[list][i];
        if (list == 0)
            own->counts[i - 1] = own->counts[i];
    }
    own->length[list]--;
}

static void put(walked *own, int list, int at, uint64_t key, int64_t count) {
    for (int i = own->length[list]++; i > at; i--) {
        own->keys[list][i] = own->keys[list][i - 1];
        if (list == 0)
            own->counts[i] = own->counts[i - 1];
    }
    own->keys[list][at] = key;
    if (list == 0)
        own->counts[at] = count;
}

/* lru is lfu whose counts are never looked at. */
static cz_move by_rank(walked *own, int n, uint64_t key, bool counts) {
    int position = find(own, 0, key), vacated = position < 0 ? own->length[0] : position, filled = 0;
    int64_t count = position < 0 ? 1 : own->counts[position] + 1;
    if (position < 0 && vacated == n)
        vacated--;
    if (vacated < own->length[0])
        take(own, 0, vacated);
    while (counts && filled < own->length[0] && own->counts[filled] > count)
        filled++;
    put(own, 0, filled, key, count);
    return (cz_move){position, vacated, filled};
}

static int evict(walked *own, bool in_b2) {
    int recent = own->length[0], often = own->length[1];
    int from = recent > 0 && (recent > own->target || (in_b2 && recent == own->target)) ? 0 : 1;
    uint64_t key = own->keys[from][own->length[from] - 1];
    own->length[from]--;
    put(own, from + 2, 0, key, 0);
    return from == 0 ? often + recent - 1 : often - 1;
}

static cz_move arc_by_lists(walked *own, int n, uint64_t key) {
    int list = 0, at = -1;
    for (list = 0; list < 4 && (at = find(own, list, key)) < 0;)
        list++;
    if (list < 2) {
        int place = list == 0 ? own->length[1] + at : at;
        take(own, list, at);
        put(own, 1, 0, key, 0);
        return (cz_move){place, place, 0};
    }
    int vacated = own->length[0] + own->length[1];
    if (list < 4) {
        double one = own->length[list], other = own->length[5 - list], step = fmax(1.0, other / one);
        own->target = list == 2 ? fmin(n, own->target + step) : fmax(0, own->target - step);
        if (vacated == n)
            vacated = evict(own, list == 3);
        take(own, list, find(own, list, key));
        put(own, 1, 0, key, 0);
        return (cz_move){-1, vacated, 0};
    }
    if (own->length[0] == n) {
        own->length[0]--;
        vacated = n - 1;
    } else {
        if (own->length[0] + own->length[2] == n)
            own->length[2]--;
        else if (own->length[0] + own->length[1] + own->length[2] + own->length[3] == 2 * n)
            own->length[3]--;
        if (vacated == n)
            vacated = evict(own, false);
    }
    put(own, 0, 0, key, 0);
    return (cz_move){-1, vacated, own->length[1]};
}

static uint64_t state;

static uint64_t drawn(uint64_t limit) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return (state >> 20) % limit;
}

/* Streams with loops, hot pages, and keys all over 64 bits. */
static uint64_t key_at(int i, int pages, int kind) {
    uint64_t page = kind == 0   ? drawn((uint64_t)pages)
                    : kind == 1 ? (uint64_t)(i % pages)
                                : drawn(1 + drawn((uint64_t)pages));
    if (kind == 3)
        page = i % 200 < 100 ? page % 7 : (uint64_t)(i % pages);
    return page * UINT64_C(0x9E3779B97F4A7C15) - 1;
}

static void compare(enum cz_queue_name name, int n, int pages, int kind, int references) {
    static walked own;
    cz_queue queue;
    memset(&own, 0, sizeof own);
    state = 88172645463325252ULL + (uint64_t)(n * 31 + pages * 7 + kind);
    REQUIRE(cz_queue_new(&queue, name, n));
    for (int i = 0; i < references; i++) {
        uint64_t key = key_at(i, pages, kind);
        cz_move found = cz_queue_reference(&queue, key);
        cz_move wanted =
            name == CZ_QUEUE_ARC ? arc_by_lists(&own, n, key) : by_rank(&own, n, key, name == CZ_QUEUE_LFU);
        bool same = memcmp(&found, &wanted, sizeof found) == 0;
        CHECK(same);
        if (!same) {
            fprintf(stderr, "queue %d n %d pages %d kind %d reference %d: %d %d %d for %d %d %d\n", (int)name, n, pages,
                    kind, i, found.position, found.vacated, found.filled, wanted.position, wanted.vacated,
                    wanted.filled);
            break;
        }
    }
    CHECK(queue.length == (name == CZ_QUEUE_ARC ? own.length[0] + own.length[1] : own.length[0]));
    CHECK(cz_queue_bytes(&queue) > 0);
    cz_queue_free(&queue);
}

/* Pages come at the end, before the first, before any, and before one and the same, until all are there; then they come
 * and go. Leaves and branches never run out. */
static void stay_within_room(int32_t n, int kind) {
    int32_t *at = malloc((size_t)n * sizeof *at), *pages = malloc((size_t)n * sizeof *pages), count = 0;
    cz_tree tree;
    bool within = true;
    REQUIRE(at && pages && cz_tree_new(&tree, n, at));
    for (int32_t i = 0; i < n; i++)
        pages[i] = i; /* the first `count` are in the tree */
    for (int32_t i = 0; i < 2 * n && within; i++) {
        if (count == n || (i >= n && count > 1 && drawn(2))) {
            int32_t place = (int32_t)drawn((uint64_t)count), page = pages[place];
            pages[place] = pages[--count];
            pages[count] = page;
            cz_tree_remove(&tree, page);
        }
        int32_t any = count ? pages[drawn((uint64_t)count)] : CZ_NO_PAGE;
        int32_t before = kind == 0 || !count ? CZ_NO_PAGE
                         : kind == 1         ? cz_tree_page(&tree, 0)
                         : kind == 2         ? any
                                             : pages[0];
        cz_tree_insert(&tree, pages[count++], before);
        within = tree.used_leaves <= tree.n_leaves && tree.used_branches <= tree.n_branches && tree.count == count;
    }
    CHECK(within);
    cz_tree_free(&tree);
    free(at);
    free(pages);
}

int main(void) {
    static const int sizes[][2] = {{1, 3},   {2, 5},     {3, 3},       {16, 12},   {61, 130},
                                   {64, 66}, {300, 700}, {1000, 1100}, {1000, 999}};
    for (int name = CZ_QUEUE_LRU; name <= CZ_QUEUE_ARC; name++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
            for (int kind = 0; kind < 4; kind++)
                compare((enum cz_queue_name)name, sizes[i][0], sizes[i][1], kind, sizes[i][0] < 1000 ? 6000 : 20000);
    compare(CZ_QUEUE_LFU, 1500, 2000, 2, 60000);
    for (int kind = 0; kind < 4; kind++)
        stay_within_room(50000, kind);
    return TEST_END();
}
