/* The forest of the trace's own past, and how far it is believed: kernels/reuse/own.py, one access at a time.
 *
 * The forest number k is grown on a reservoir of the accesses before S_k, from the access S_k + delay on. Where an
 * access goes in the reservoir depends on its number alone, so of those that are not settled yet only the last drawn for
 * each place before S_k, of each k, has to be remembered. S grows by GROWTH from 1.5 C on and the delay is 4 C, so
 * never more than CZ_EPOCHS different k are open at a time.
 */
#include <string.h>

#include "reuse_check.h"

#define FIRST 1.5
#define GROWTH 1.3
#define HALF_LIFE 2.0
#define DOUBT 0.1
#define NEAREST (-7.0)
#define NOT_WITHIN 5.0f

static int64_t further(int64_t settled) {
    return (int64_t)ceil((double)settled * GROWTH);
}

static int64_t first_end(int64_t capacity) {
    int64_t first = (int64_t)ceil(FIRST * (double)capacity);
    return first < 2 * CZ_LEAST ? 2 * CZ_LEAST : first;
}

/* Accesses in which a forest is grown: it predicts the last of them. */
static int64_t accesses_of(const cz_own *own, int64_t settled) {
    if (own->pace == 0)
        return 1;
    int64_t rows = settled < own->sample ? settled : own->sample, most = (further(settled) - settled) / 2;
    int64_t accesses = (rows * own->trees.n + own->pace - 1) / own->pace;
    accesses = accesses < most ? accesses : most;
    return accesses > 1 ? accesses : 1;
}

/* The access from which the forest predicts that is grown when so many have settled. */
static int64_t predicts_from(const cz_own *own, int64_t settled) {
    return settled + own->delay + accesses_of(own, settled) - 1;
}

void cz_own_new(cz_own *own, cz_memory *memory, int64_t capacity, int64_t trees, int64_t sample, int64_t pace,
                uint32_t seed) {
    own->capacity = capacity;
    own->delay = CZ_HORIZON * capacity;
    own->size = own->delay + 2;
    own->sample = sample;
    own->pace = pace;
    own->seed = seed;
    own->fade = exp2(-(1.0 / (HALF_LIFE * (double)capacity)));
    own->trees.n = trees;
    own->n.fill_end = own->n.grow_end = first_end(capacity);
    own->n.first = -1;
    cz_memory_keep(memory, &own->n, sizeof own->n);
    cz_memory_keep(memory, &own->trees.base, sizeof own->trees.base);
    if (trees == 0)
        return;
    size_t kept = (size_t)(sample * (CZ_EPOCHS + 1));
    own->trees.tree = cz_memory_room(memory, (size_t)trees, sizeof *own->trees.tree, NULL);
    cz_grower_new(&own->grower, memory, sample, trees);
    own->rows = cz_memory_room(memory, kept, CZ_INPUTS * sizeof *own->rows, NULL);
    own->target = cz_memory_room(memory, kept, sizeof *own->target, NULL);
    own->access = cz_memory_room(memory, kept, sizeof *own->access, NULL);
    own->unused = cz_memory_room(memory, kept, sizeof *own->unused, NULL);
    own->reservoir = cz_memory_room(memory, (size_t)sample, sizeof *own->reservoir, NULL);
    for (int k = 0; k < CZ_EPOCHS; k++)
        own->pending[k] = cz_memory_room(memory, (size_t)sample, sizeof *own->pending[k], NULL);
    own->ring = cz_memory_room(memory, (size_t)own->size, sizeof *own->ring, NULL);
    if (memory->failed)
        return;
    for (size_t k = 0; k < kept; k++)
        own->unused[k] = (int32_t)(kept - 1 - k);
    own->n.unused = (int64_t)kept;
    for (int64_t place = 0; place < sample; place++) {
        own->reservoir[place] = CZ_NONE;
        for (int k = 0; k < CZ_EPOCHS; k++)
            own->pending[k][place] = CZ_NONE;
    }
}

/* Keep the access if it is drawn; returns its row among those kept or CZ_NONE. */
static int32_t keep(cz_own *own, int64_t i, const float *row) {
    while (i >= own->n.fill_end) {
        own->n.filling++;
        own->n.fill_end = further(own->n.fill_end);
    }
    int64_t place = i < own->sample ? i : cz_scaled(cz_draw(own->seed, i), i + 1);
    if (place >= own->sample)
        return CZ_NONE;
    int32_t *slot = &own->pending[own->n.filling % CZ_EPOCHS][place];
    if (*slot == CZ_NONE)
        *slot = own->unused[--own->n.unused];
    for (int f = 0; f < CZ_INPUTS; f++)
        own->rows[(int64_t)*slot * CZ_INPUTS + f] = row[f];
    own->target[*slot] = NOT_WITHIN;
    own->access[*slot] = i;
    return *slot;
}

/* All before `grow_end` are settled: into the reservoir. */
static void fill(cz_own *own) {
    int32_t *pending = own->pending[own->n.growing % CZ_EPOCHS];
    for (int64_t place = 0; place < own->sample; place++) {
        if (pending[place] == CZ_NONE)
            continue;
        if (own->reservoir[place] != CZ_NONE)
            own->unused[own->n.unused++] = own->reservoir[place];
        own->reservoir[place] = pending[place];
        pending[place] = CZ_NONE;
    }
}

static void begin(cz_own *own) {
    int64_t n = own->n.grow_end < own->sample ? own->n.grow_end : own->sample;
    cz_grower_begin(&own->grower, own->trees.n, own->rows, own->target, own->reservoir, n);
}

/* Grow as much of the next forest as access i has to. */
static void grow(cz_own *own, int64_t i) {
    int64_t nth = i - own->n.grow_end - own->delay + 1;
    cz_grower_work(&own->grower, own->grower.units * nth / accesses_of(own, own->n.grow_end));
}

/* Access i comes: the forest that is due begins, goes on or predicts from now on. */
static void tend(cz_own *own, int64_t i) {
    int64_t begins = own->n.grow_end + own->delay;
    if (i < begins)
        return;
    if (i == begins) {
        fill(own);
        begin(own);
    }
    grow(own, i);
    if (i < predicts_from(own, own->n.grow_end))
        return;
    cz_grower_hand_over(&own->grower, &own->trees);
    if (own->n.first < 0)
        own->n.first = own->n.settled = i;
    own->n.growing++;
    own->n.grow_end = further(own->n.grow_end);
}

void cz_own_resume(cz_own *own, int64_t accesses) {
    if (own->trees.n == 0 || accesses <= own->n.grow_end + own->delay)
        return;
    begin(own);
    grow(own, accesses - 1);
}

/* Access i is the next one to a page; its latest access learns its target. */
static void settle(cz_own *own, const cz_page *page, int64_t i) {
    int64_t distance = i - page->last;
    if (page->last < 0 || distance > own->delay)
        return;
    double log_distance = log2((double)distance / (double)own->capacity);
    float target = (float)(log_distance > NEAREST ? log_distance : NEAREST);
    if (page->row != CZ_NONE && own->access[page->row] == page->last)
        own->target[page->row] = target;
    if (own->n.first >= 0 && page->last >= own->n.first)
        own->ring[page->last % own->size].rest = target - page->score;
}

/* The share of the way to the own forest's score that would have been best up to access i. */
static double believe(cz_own *own, int64_t i) {
    int64_t at = own->n.settled % own->size;
    for (; own->n.settled + own->delay < i; own->n.settled++) {
        const cz_belief *one = &own->ring[at];
        own->n.gained = own->n.gained * own->fade + one->way * one->rest;
        own->n.apart = own->n.apart * own->fade + one->way * one->way;
        at = at + 1 < own->size ? at + 1 : 0;
    }
    double share = own->n.gained / (own->n.apart + DOUBT * (double)own->capacity);
    share = share > 0.0 ? share : 0.0;
    return share < 1.0 ? share : 1.0;
}

float cz_own_correct(cz_own *own, cz_page *page, int64_t i, const float *row, float score) {
    if (own->trees.n == 0)
        return score;
    settle(own, page, i);
    tend(own, i);
    page->row = keep(own, i, row);
    page->score = score;
    if (own->n.first < 0)
        return score;
    float way = cz_grown_score(&own->trees, row) - score;
    own->ring[i % own->size] = (cz_belief){.way = way, .rest = NOT_WITHIN - score};
    return (float)(score + believe(own, i) * way);
}

/* Each row is unused, in the reservoir or pending, and but once: then none is missing where one is taken. */
static bool rows_sound(const cz_own *own, uint8_t *taken) {
    int64_t kept = own->sample * (CZ_EPOCHS + 1), all = 0;
    if (own->n.unused < 0 || own->n.unused > kept)
        return false;
    memset(taken, 0, (size_t)kept);
    for (int part = -2; part < CZ_EPOCHS; part++) {
        const int32_t *rows = part == -2 ? own->unused : part == -1 ? own->reservoir : own->pending[part];
        int64_t n = part == -2 ? own->n.unused : own->sample;
        for (int64_t k = 0; k < n; k++) {
            if (rows[k] == CZ_NONE && part > -2)
                continue;
            if (rows[k] < 0 || rows[k] >= kept || taken[rows[k]]++)
                return false;
            all++;
        }
    }
    return all == kept;
}

/* Forests are grown on the first places of the reservoir, which the accesses up to then filled. */
static bool places_sound(const cz_own *own, int64_t accesses) {
    int64_t epoch = 0, end = first_end(own->capacity);
    int64_t filled = own->n.growing + (accesses > own->n.grow_end + own->delay);
    for (int64_t place = 0; place < own->sample && place < accesses; place++) {
        for (; place >= end; epoch++)
            end = further(end);
        const int32_t *rows = epoch < filled ? own->reservoir : own->pending[epoch % CZ_EPOCHS];
        if (rows[place] == CZ_NONE)
            return false;
    }
    return true;
}

/* Targets are such as accesses have: a forest is grown on finite numbers alone. */
static bool targets_sound(const cz_own *own) {
    for (int64_t row = 0; row < own->sample * (CZ_EPOCHS + 1); row++)
        if (!(own->target[row] >= (float)NEAREST && own->target[row] <= NOT_WITHIN))
            return false;
    return true;
}

bool cz_own_sound(const cz_own *own, cz_check *check) {
    int64_t latest = check->accesses - 1, fill_end = first_end(own->capacity), grow_end = fill_end;
    int64_t first = predicts_from(own, grow_end) <= latest ? predicts_from(own, grow_end) : -1, filling = 0,
            growing = 0;
    if (own->trees.n == 0)
        return true;
    for (; latest >= fill_end; filling++)
        fill_end = further(fill_end);
    for (; latest >= predicts_from(own, grow_end); growing++)
        grow_end = further(grow_end);
    if (own->n.filling != filling || own->n.fill_end != fill_end || own->n.growing != growing ||
        own->n.grow_end != grow_end || own->n.first != first)
        return false;
    if (first >= 0 && (own->n.settled < first || own->n.settled > latest || latest - own->n.settled > own->delay))
        return false;
    for (int64_t t = 0; t < own->trees.n; t++)
        for (int node = 0; node < CZ_INNER; node++)
            if (own->trees.tree[t].inputs[node] < 0 || own->trees.tree[t].inputs[node] >= CZ_INPUTS)
                return false;
    return rows_sound(own, check->taken) && places_sound(own, check->accesses) && targets_sound(own);
}
