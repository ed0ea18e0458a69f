/* How often pages of a class came back at each age, and what that makes them worth: kernels/reuse/hazards.py.
 *
 * The kernel looks up for each access whether it is still its page's latest; here the access carries a bit for that, in a
 * ring that holds it until it has left the last bin that counts leaving (32 C accesses, and C / 8 between refreshes).
 */
#include <string.h>

#include "reuse_parts.h"

#define IDLE 1e300 /* `held` of an age that has not begun: what it finds, divided by this, is as good as nothing */
enum { PART = 8, FIRST_EDGE = 64, RANKED_EVERY = 8, HALF_LIFE = 32, OPEN = CZ_AGES - 1 };

static int bin_by_formula(int64_t age, double first) {
    if (!((double)age > first))
        return 0;
    double bin = ceil(2 * log2((double)age / first));
    return bin < CZ_AGES - 1 ? (int)bin : CZ_AGES - 1;
}

/* The largest age of each bin, found by the kernel's own formula, and the least bin of each quarter of an octave. */
static void find_limits(cz_hazards *hazards) {
    double first = (double)hazards->capacity / FIRST_EDGE;
    for (int bin = 0; bin < CZ_AGES - 1; bin++) {
        int64_t low = 0, high = INT64_C(1) << 40;
        while (low < high) {
            int64_t middle = low + (high - low + 1) / 2;
            if (bin_by_formula(middle, first) <= bin)
                low = middle;
            else
                high = middle - 1;
        }
        hazards->limits[bin] = low;
    }
    hazards->limits[CZ_AGES - 1] = INT64_MAX;
    for (int quarter = 0; quarter < CZ_QUARTERS; quarter++) {
        double begins = ldexp(1 + 0.25 * (quarter % 4), quarter / 4);
        hazards->least[quarter] = quarter > 4 * 40 ? CZ_AGES - 1 : (uint8_t)bin_by_formula((int64_t)begins, first);
    }
}

/* What pages of class k are worth at each age: max over T of P(used again within T) over the time held until then. Ages
 * are worked on PART at a time; those that have not begun are IDLE until `later` comes to them. */
static void rank_class(const double *events, const double *risks, const int64_t *edges, double *restrict worth) {
    double alive[CZ_AGES] = {0}, held[CZ_AGES];
    for (int b = 0; b < CZ_AGES; b++)
        held[b] = IDLE;
    for (int later = 0; later < CZ_AGES; later++) {
        double hazard = risks[later] > 0 ? events[later] / risks[later] : 0.0;
        hazard = hazard < 1.0 ? hazard : 1.0;
        int64_t ages = edges[later + 1] - edges[later];
        double width = ages > 1 ? (double)ages : 1.0, half = 1 - 0.5 * hazard, stay = 1 - hazard;
        alive[later] = 1.0;
        held[later] = worth[later] = 0.0;
        for (int part = 0; part <= later; part += PART)
            for (int b = part; b < part + PART; b++) {
                held[b] += alive[b] * width * half;
                alive[b] *= stay;
                double found = (1 - alive[b]) / held[b];
                worth[b] = found > worth[b] ? found : worth[b];
            }
    }
}

static void rank(cz_hazards *hazards) {
    for (int k = 0; k < hazards->n_classes; k++) {
        int64_t at = (int64_t)k * CZ_AGES;
        rank_class(hazards->events + at, hazards->risks + at, hazards->edges, hazards->worth + at);
    }
}

void cz_hazards_new(cz_hazards *hazards, cz_memory *memory, int64_t capacity, int classes, const double *events,
                    const double *risks) {
    hazards->capacity = capacity;
    hazards->n_classes = classes;
    for (int k = 0; k < CZ_AGES; k++) {
        double end = floor((double)capacity / FIRST_EDGE * pow(2.0, (double)k / 2));
        hazards->edges[k + 1] = end > 1 ? (int64_t)end : 1;
    }
    find_limits(hazards);
    int64_t held = hazards->edges[OPEN] + (capacity > RANKED_EVERY ? capacity / RANKED_EVERY : 1) + 2;
    hazards->ring = (held + 63) / 64 * 64;
    size_t counts = (size_t)classes * CZ_AGES;
    hazards->events = cz_memory_room(memory, counts, sizeof(double), NULL);
    hazards->risks = cz_memory_room(memory, counts, sizeof(double), NULL);
    hazards->worth = cz_memory_room(memory, counts, sizeof(double), NULL);
    hazards->classes = cz_memory_room(memory, (size_t)hazards->ring, sizeof(uint8_t), NULL);
    hazards->again = cz_memory_room(memory, (size_t)hazards->ring / 64, sizeof(uint64_t), NULL);
    cz_memory_keep(memory, &hazards->n, sizeof hazards->n);
    if (memory->failed)
        return;
    memcpy(hazards->events, events, counts * sizeof(double));
    memcpy(hazards->risks, risks, counts * sizeof(double));
    rank(hazards);
}

/* Count what left bin b unused, from the accesses at ring place `at` on; at most `n` of them, to the ring's end. */
static void leave_run(cz_hazards *hazards, int b, int64_t at, int64_t n) {
    while (n > 0) {
        int64_t bit = at % 64, part = 64 - bit < n ? 64 - bit : n;
        uint64_t unused = ~hazards->again[at / 64] >> bit;
        if (part < 64)
            unused &= (UINT64_C(1) << part) - 1;
        for (; unused != 0; unused &= unused - 1)
            hazards->risks[hazards->classes[at + __builtin_ctzll(unused)] * CZ_AGES + b] += 1;
        at += part;
        n -= part;
    }
}

/* Count what left a bin unused by access number i. */
static void leave(cz_hazards *hazards, int64_t i) {
    for (int b = 0; b < OPEN; b++) {
        int64_t from = hazards->n.left[b], to = i - hazards->edges[b + 1];
        if (to <= from)
            continue;
        int64_t at = from % hazards->ring, n = to - from;
        int64_t before_end = hazards->ring - at < n ? hazards->ring - at : n;
        leave_run(hazards, b, at, before_end);
        leave_run(hazards, b, 0, n - before_end);
        hazards->n.left[b] = to;
    }
}

static void refresh(cz_hazards *hazards, int64_t i) {
    leave(hazards, i);
    rank(hazards);
    double fade = exp2(-((double)(i - hazards->n.ranked) / (double)(HALF_LIFE * hazards->capacity)));
    for (int64_t k = 0; k < (int64_t)hazards->n_classes * CZ_AGES; k++) {
        hazards->events[k] *= fade;
        hazards->risks[k] *= fade;
    }
    hazards->n.ranked = i;
}

/* Count a use in its bin of the page accessed `before`; earlier bins that have not counted it yet do so too. */
static void use(cz_hazards *hazards, int64_t i, int64_t before, int was) {
    int bin = cz_age_bin(hazards, i - before);
    double *events = hazards->events + was * CZ_AGES, *risks = hazards->risks + was * CZ_AGES;
    events[bin] += 1;
    risks[bin] += 1;
    for (int earlier = 0; earlier < bin; earlier++)
        if (hazards->n.left[earlier] <= before)
            risks[earlier] += 1;
    if (i - before < hazards->ring) {
        int64_t at = before % hazards->ring;
        hazards->again[at / 64] |= UINT64_C(1) << at % 64;
    }
}

void cz_hazards_saw(cz_hazards *hazards, int64_t i, int class, int64_t before, int was) {
    int64_t every = hazards->capacity / RANKED_EVERY;
    if (i - hazards->n.ranked >= (every > 1 ? every : 1))
        refresh(hazards, i);
    if (before >= 0)
        use(hazards, i, before, was);
    int64_t at = i % hazards->ring;
    hazards->classes[at] = (uint8_t)class;
    hazards->again[at / 64] &= ~(UINT64_C(1) << at % 64);
}
