/* Parts of kind reuse: the page cache of docs/page-cache.md, one page access at a time.
 *
 * Each part does what the kernel of the same name does (src/cachezoo/kernels): the same float64 operations in the same
 * order, so outcomes are equal to the simulator's. Access numbers count page accesses from 0. Pages are known by their
 * slot in a table. The slots below CZ_FIRST_SLOT are no pages: lists use them as their ends.
 */
#ifndef CZ_REUSE_PARTS_H
#define CZ_REUSE_PARTS_H

#include <math.h>
#include <string.h>

#include "internal.h"

#define CZ_FIRST_SLOT 4
#define CZ_INPUTS 26
#define CZ_HORIZON 4         /* capacities beyond which all next uses are alike */
#define CZ_APART 0x5BD1E995u /* keeps small seeds from meeting small numbers */
#define CZ_NONE (-1)
#define CZ_REFUSED (-2)
#define CZ_HALF_LIVES 3

enum { CZ_BYPASSED = 0, CZ_ADMITTED = 1, CZ_HIT = 2 };

/* ---- memory: all that a stream ever allocates, in the order in which it is saved ----
 * What is saved has no padding, so that equal states are equal bytes. */
typedef struct cz_field {
    void *data, *block;  /* block: what is freed; NULL where the memory is not ours */
    size_t each, most;   /* bytes of an entry, entries */
    const int64_t *used; /* entries that mean anything; NULL: all */
    bool saved;
} cz_field;
typedef struct cz_memory {
    cz_field fields[256];
    int n;
    bool failed, large;  /* large: it failed because it would have been more than `limit` */
    size_t bytes, limit; /* 0: no limit */
} cz_memory;
/* Room for `most` entries, all 0; NULL, and `failed` from then on, where there is none. */
void *cz_memory_room(cz_memory *memory, size_t most, size_t each, const int64_t *used);
void *cz_memory_scratch(cz_memory *memory, size_t most, size_t each); /* not saved */
void cz_memory_keep(cz_memory *memory, void *data, size_t bytes);     /* numbers that lie elsewhere */
void cz_memory_free(cz_memory *memory);
size_t cz_memory_save(const cz_memory *memory, unsigned char *buffer);
bool cz_memory_restore(cz_memory *memory, const unsigned char *buffer, size_t size);

/* ---- draws (kernels/admit/draws.py) ---- */
static inline uint32_t cz_mix(uint32_t value) {
    value ^= value >> 16;
    value *= 0x7FEB352Du;
    value ^= value >> 15;
    value *= 0x846CA68Bu;
    return value ^ (value >> 16);
}

static inline uint32_t cz_draw(uint32_t seed, int64_t number) {
    return cz_mix(cz_mix((uint32_t)(number & 0x7FFFFFFF)) ^ cz_mix(seed ^ CZ_APART));
}

static inline int64_t cz_scaled(uint32_t value, int64_t size) /* below 2^46 */
{
    return ((int64_t)value * (size >> 16) + ((int64_t)value * (size & 0xFFFF) >> 16)) >> 16;
}

/* ---- doubly linked lists over slots; `end` is a list's end, its `after` the newest, its `before` the oldest ---- */
typedef struct cz_link {
    int32_t before, after;
} cz_link;

static inline void cz_unlink(cz_link *links, int32_t slot) {
    links[links[slot].before].after = links[slot].after;
    links[links[slot].after].before = links[slot].before;
}

static inline void cz_link_head(cz_link *links, int32_t end, int32_t slot) {
    int32_t first = links[end].after;
    links[slot].before = end;
    links[slot].after = first;
    links[first].before = slot;
    links[end].after = slot;
}

static inline int32_t cz_pop_tail(cz_link *links, int32_t end) {
    int32_t slot = links[end].before;
    cz_unlink(links, slot);
    return slot;
}

static inline void cz_link_ends(cz_link *links) {
    for (int32_t end = 0; end < CZ_FIRST_SLOT; end++)
        links[end].before = links[end].after = end;
}

/* ---- table: numbers of a volume to slots; the oldest that nothing holds is forgotten where it is full ---- */
typedef struct cz_key {
    int64_t number;
    uint64_t request : 63, recent : 1; /* the latest one that used it; used since the hand was here */
    int32_t volume, next;
} cz_key;
typedef struct cz_table {
    cz_key *keys;
    int32_t *buckets; /* first slot of each chain, 0 where it is empty */
    int64_t *last;    /* of pages: the latest access of each, the present one included; see cz_table_last */
    uint64_t mask;
    int64_t most; /* slots in all */
    struct {
        int64_t used, hand; /* slots given so far, the first ones included */
        uint64_t forgotten;
    } n;
    bool (*held)(const void *owner, int32_t slot); /* NULL: nothing is */
    void (*forget)(void *owner, int32_t slot);
    void *owner;
} cz_table;
void cz_table_new(cz_table *table, cz_memory *memory, int64_t most);
int32_t cz_table_find(cz_table *table, int32_t volume, int64_t number, uint64_t request, bool *found);
int32_t cz_table_look(const cz_table *table, int32_t volume, int64_t number); /* 0: it is not there */
/* The key becomes that of no number that is asked for, until it is forgotten; its volume is below 0. */
void cz_table_turn(cz_table *table, int32_t slot);
/* `last` of pages that classics serve together, each of which sets it; NULL where there is no memory. */
int64_t *cz_table_last(cz_table *table, cz_memory *memory);
bool cz_table_index(cz_table *table); /* chains of the keys as they were restored; false where these are damaged */

/* ---- a page ---- */
typedef struct cz_page {
    int64_t last; /* latest access, -1 before the first */
    double sums[CZ_HALF_LIVES], interval, share;
    float score;         /* the forest's, at its latest access */
    int32_t row;         /* of that access among those kept, or stale */
    uint32_t id;         /* by first appearance */
    uint8_t class, seen; /* seen: accesses, at most 255 */
    int8_t wrote;        /* -1 unknown */
    uint8_t dirty;
} cz_page;

/* ---- inputs (kernels/reuse/past.py) ---- */
enum { CZ_FLAG_METADATA = 1, CZ_FLAG_READAHEAD = 2, CZ_FLAG_SYNC = 4, CZ_FLAG_UNKNOWN = 8 };
#define CZ_CONTEXTS 256
#define CZ_SEEN 16
typedef struct cz_page_range {
    uint64_t number;            /* of the request, from 1 */
    int64_t first, page, pages; /* its first access, its first page, how many */
    int32_t volume, process;
    int write, follows, flags;
} cz_page_range;
typedef struct cz_tract {
    int64_t last;
    double sums[2];
} cz_tract;
typedef struct cz_seen_access { /* of an access of the present request */
    int32_t slot, region, stretch;
    double counts[CZ_HALF_LIVES], interval;
} cz_seen_access;
typedef struct cz_rate {
    double part, counted;
} cz_rate;
typedef struct cz_past {
    cz_table regions, stretches;
    cz_tract *region, *stretch;
    uint32_t *recent; /* ring of what the rates still count */
    int64_t ring;
    cz_rate *rates[2]; /* contexts, pages seen as often, then processes */
    int32_t processes;
    double capacity, run;
    int64_t settled[2];
} cz_past;
void cz_past_new(cz_past *past, cz_memory *memory, int64_t capacity, int64_t most_keys, int32_t processes,
                 int64_t most_pages);
void cz_past_describe(cz_past *past, const cz_page *pages, const cz_page_range *range, cz_seen_access *accesses,
                      float *rows);
void cz_past_remember(cz_past *past, cz_page *page, const cz_page_range *range, const cz_seen_access *access,
                      int64_t i);

/* ---- a small forest, grown from rows (kernels/reuse/own.py) ---- */
enum { CZ_DEPTH = 4, CZ_INNER = 15, CZ_LEAVES = 16, CZ_BINS = 32, CZ_LEAST = 20 };
typedef struct cz_grown_tree {
    double leaves[CZ_LEAVES];
    float cuts[CZ_INNER];
    int32_t inputs[CZ_INNER];
} cz_grown_tree;
typedef struct cz_grown {
    cz_grown_tree *tree;
    double base;
    int64_t n;
} cz_grown;
typedef double cz_cell __attribute__((vector_size(16))); /* of the rows of a bin: sum of their residuals, how many */
typedef struct cz_grower {
    const float *rows, *target;
    const int32_t *drawn;
    int64_t n, trees, units, done; /* units of work in all, and done */
    cz_grown_tree *tree;
    double base;
    uint16_t *cells; /* of each row, for each varied input: its place there by CZ_BINS, and its bin */
    double *residuals;
    int32_t *order, *next; /* rows by node, in their order within each; the same of the level below */
    float *column, *other;
    uint32_t *counts;
    /* Residuals as whole numbers, and a count of 1 in the lowest bits; their sums in each node, by varied input and bin;
     * float64 sums of the nodes for which those of the whole numbers decide nothing. */
    int64_t *packed, *piles;
    cz_cell *sums;
    double size, largest, one,
        wrong; /* of residuals: their sum and the largest, what 1 is, by how much a gain may err */
    int bits;
    bool known[CZ_INNER + CZ_LEAVES], unsure[CZ_LEAVES / 2];
    int64_t at, part; /* the input or the tree that is worked on; units of its phase that are done */
    int phase, level;
    int64_t starts[CZ_LEAVES + 1], place[CZ_LEAVES / 2][2];
    int column_of[CZ_LEAVES / 2],
        last[CZ_LEAVES / 2]; /* of each node: what splits it, and the last cell that goes low */
    float edges[CZ_INPUTS][CZ_BINS - 1];
    int varied[CZ_INPUTS], n_varied; /* inputs of more than one bin, and the first */
} cz_grower;
void cz_grower_new(cz_grower *grower, cz_memory *memory, int64_t rows, int64_t trees);
/* Begin to grow trees on rows[drawn[0 .. n - 1]], which stay as they are until all `units` are done. */
void cz_grower_begin(cz_grower *grower, int64_t trees, const float *rows, const float *target, const int32_t *drawn,
                     int64_t n);
void cz_grower_work(cz_grower *grower, int64_t until); /* as many units are then done */
void cz_grower_hand_over(const cz_grower *grower, cz_grown *trees);
float cz_grown_score(const cz_grown *trees, const float *row);

/* ---- the forest of the own past, and how far it is believed ---- */
enum { CZ_EPOCHS = 8 };
typedef struct cz_belief {
    float way, rest;
} cz_belief;
typedef struct cz_own {
    cz_grown trees;
    cz_grower grower;
    float *rows, *target; /* of accesses that are kept or may be */
    int64_t *access;
    int32_t *unused, *reservoir, *pending[CZ_EPOCHS];
    cz_belief *ring;
    int64_t capacity, delay, size, sample, pace;
    uint32_t seed;
    double fade;
    struct {
        int64_t unused, filling, fill_end, growing, grow_end, first, settled;
        double gained, apart;
    } n;
} cz_own;
/* Each access grows about `pace` rows by trees; 0: one access grows all. */
void cz_own_new(cz_own *own, cz_memory *memory, int64_t capacity, int64_t trees, int64_t sample, int64_t pace,
                uint32_t seed);
void cz_own_resume(cz_own *own, int64_t accesses); /* after so many accesses, whose numbers were restored */
/* The score in use at access i, whose row and score are given; `page` is as its latest access left it. */
float cz_own_correct(cz_own *own, cz_page *page, int64_t i, const float *row, float score);

/* ---- hazards (kernels/reuse/hazards.py) ---- */
enum { CZ_AGES = 24, CZ_QUARTERS = 256 };
typedef struct cz_hazards {
    double *events, *risks, *worth; /* [classes][CZ_AGES] */
    uint8_t *classes;               /* ring of the latest accesses */
    uint64_t *again;                /* bit of each: its page was used again */
    int64_t edges[CZ_AGES + 1], limits[CZ_AGES], capacity, ring;
    uint8_t least[CZ_QUARTERS]; /* bin of the first age of each quarter of an octave */
    int n_classes;
    struct {
        int64_t left[CZ_AGES], ranked;
    } n;
} cz_hazards;
void cz_hazards_new(cz_hazards *hazards, cz_memory *memory, int64_t capacity, int classes, const double *events,
                    const double *risks);
/* Access i, of `class`, to a page whose latest access, of class `was`, is `before` (-1: there is none). */
void cz_hazards_saw(cz_hazards *hazards, int64_t i, int class, int64_t before, int was);

/* Which quarter of which octave a number of at least 1 is in: the exponent of float64 and two bits of its fraction. */
static inline int cz_quarter(double number) {
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    return (int)(bits >> 50) - (1023 << 2);
}

/* Of an age of at least 1, without a branch: bins are half an octave long, so a quarter's ages lie in two at most. */
static inline int cz_age_bin(const cz_hazards *hazards, int64_t age) {
    int least = hazards->least[cz_quarter((double)age)];
    return least + (age > hazards->limits[least]);
}

/* ---- the cache of the forest (kernels/evict/worth.py) ---- */
typedef struct cz_resident {
    int64_t last;
    int32_t slot, class;
} cz_resident;
typedef struct cz_worth {
    cz_hazards hazards;
    cz_resident *residents;
    int32_t *place; /* of each slot among the residents, from 1; 0: not resident */
    int64_t capacity, candidates;
    uint32_t seed;
    struct {
        int64_t used, drawn;
    } n;
} cz_worth;
void cz_worth_new(cz_worth *worth, cz_memory *memory, const cz_table *pages, int64_t capacity);
/* Serve access i of a class; `page` is as its latest access left it. */
int cz_worth_serve(cz_worth *worth, int32_t slot, const cz_page *page, int64_t i, int class, int32_t *victim);

/* ---- classics ---- */
enum cz_classic_name { CZ_AZOR, CZ_LFU_HEAP, CZ_LIRS, CZ_LRU_LIST, CZ_S3FIFO, CZ_WTINYLFU, CZ_CLASSICS };
typedef struct cz_classic {
    enum cz_classic_name name;
    void *state;
} cz_classic;
enum cz_classic_name cz_classic_named(const char *text); /* CZ_CLASSICS where there is none */
void cz_classic_new(cz_classic *classic, enum cz_classic_name name, cz_memory *memory, cz_table *pages,
                    int64_t capacity);
/* Serve access i; `metadata` as its request is flagged. Returns the outcome, `victim` the page evicted or CZ_NONE. */
int cz_classic_serve(cz_classic *classic, int32_t slot, uint32_t id, int64_t i, bool metadata, int32_t *victim);
bool cz_classic_holds(const cz_classic *classic, int32_t slot); /* the page, or its ghost */
void cz_classic_forget(cz_classic *classic, int32_t slot);
int64_t cz_classic_most(enum cz_classic_name name, int64_t capacity); /* pages that it holds at most */

typedef struct cz_check cz_check; /* reuse_check.h */
typedef struct cz_classic_ops {
    const char *name;
    void *(*make)(cz_memory *memory, cz_table *pages, int64_t capacity);
    int (*serve)(void *state, int32_t slot, uint32_t id, int64_t i, bool metadata, int32_t *victim);
    bool (*holds)(const void *state, int32_t slot);
    void (*forget)(void *state, int32_t slot); /* NULL: of what it does not hold it knows nothing */
    int64_t (*most)(int64_t capacity);
    bool (*sound)(const void *state, cz_check *check); /* as restored; see cz_classic_sound */
} cz_classic_ops;
extern const cz_classic_ops cz_azor_ops, cz_lfu_ops, cz_lirs_ops, cz_lru_ops, cz_s3fifo_ops, cz_wtinylfu_ops;

/* ---- the follower (kernels/follow.py) ---- */
enum { CZ_MOST_EXPERTS = 8 };
typedef struct cz_followed_page {
    int32_t slot;     /* of the cache, where it is held */
    uint16_t holders; /* bit of each expert that holds it */
    uint16_t place;
} cz_followed_page;
typedef struct cz_follow {
    cz_link *links;
    cz_followed_page *pages;
    int experts;
    int64_t capacity;
    double growth, lead, price;
    struct {
        double credit[CZ_MOST_EXPERTS], weight;
        int64_t lacks[CZ_MOST_EXPERTS], leader, used;
    } n;
} cz_follow;
void cz_follow_new(cz_follow *follow, cz_memory *memory, const cz_table *pages, int64_t capacity, int experts);
/* Take what the experts did with an access; returns the outcome. */
int cz_follow_serve(cz_follow *follow, int32_t slot, const uint8_t *outcome, const int32_t *victims, int32_t *victim);

#endif
