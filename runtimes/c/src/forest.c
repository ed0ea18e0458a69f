/* Forests of at most 64 leaves a tree are scored without walking: a leaf is a bit of a word, and each value of a
 * feature has, for every tree, the word of the leaves that it leaves possible; of 32 bits where no tree has more leaves.
 * The words of all features are combined by AND; the lowest bit that is left is the leaf. Words of one value lie side by side for all trees, so a row reads
 * few long pieces of memory, no branch depends on data, and every row costs the same. Source: QuickScorer (Lucchese et
 * al., SIGIR 2015), here with the masks of each feature combined beforehand.
 *
 * Thresholds are rounded down to float32: x <= t and x <= f are the same for every float32 x. Scores are float64 sums
 * of the leaves in the trees' order, as LightGBM's own; it alone takes an x within 1e-35 for 0. Rows must hold no NaN.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "forest_text.h"

#define LANES 8              /* words of 64 bits that are combined at once: one cache line */
#define STEP 16              /* thresholds of a feature are padded to this many */
#define MOST_BYTES (8 << 20) /* of words; a forest that needs more is walked */

typedef uint64_t words __attribute__((vector_size(8 * LANES)));
typedef uint32_t half __attribute__((may_alias));

typedef struct node { /* of forests that are walked */
    float threshold;
    int32_t feature, left, right; /* ~leaf */
} node;

typedef struct input { /* a feature that some tree looks at */
    int32_t feature, steps;
    const float *thresholds; /* rising, padded with infinity */
    const words *allowed;    /* [thresholds + 1][blocks]: by the number of thresholds below the value */
} input;

struct cz_forest {
    int32_t trees, blocks, inputs;
    int32_t bits; /* of a tree's word, 32 or 64 */
    double (*score)(const cz_forest *forest, const float *row);
    input input[CZ_MAX_FEATURES];
    float *thresholds;
    words *allowed;
    int32_t *first_node, *first_value; /* of each tree */
    node *nodes;
    double *values; /* leaves from left to right, `bits` to a tree; where trees are walked: as numbered */
};

/* ---- scoring ---- */

static inline __attribute__((always_inline)) double add_leaves(const cz_forest *forest, const uint64_t *word,
                                                               int32_t block, double sum, int32_t bits) {
    const int32_t lanes = LANES * 64 / bits;
    const double *values = forest->values + (size_t)block * LANES * 64;
    const half *halves = (const half *)word;
    int32_t left = forest->trees - block * lanes, trees = left < lanes ? left : lanes;
    for (int32_t i = 0; i < trees; i++)
        sum += values[i * bits + (bits == 32 ? __builtin_ctz(halves[i]) : __builtin_ctzll(word[i]))];
    return sum;
}

/* AND of the inputs' words of a block, in vectors of what the CPU has: wider ones are taken apart through memory. */
#define COMBINE(name, bytes)                                                                                           \
    typedef uint64_t name##_part __attribute__((vector_size(bytes), may_alias));                                       \
    static inline __attribute__((always_inline)) void name(const words *const *allowed, int32_t inputs, int32_t block, \
                                                           uint64_t *word) {                                           \
        name##_part left[sizeof(words) / (bytes)];                                                                     \
        memset(left, 0xff, sizeof left);                                                                               \
        for (int32_t i = 0; i < inputs; i++) {                                                                         \
            const name##_part *more = (const name##_part *)&allowed[i][block];                                         \
            _Pragma("GCC unroll 8") for (size_t k = 0; k < sizeof(words) / (bytes); k++) left[k] &= more[k];           \
        }                                                                                                              \
        memcpy(word, left, sizeof left);                                                                               \
    }

/* How many of a feature's thresholds are below a value, likewise. */
#define RANK(name, bytes)                                                                                              \
    typedef float name##_floats __attribute__((vector_size(bytes), aligned(4), may_alias));                            \
    typedef int32_t name##_counts __attribute__((vector_size(bytes)));                                                 \
    static inline __attribute__((always_inline)) int32_t name(const float *thresholds, int32_t steps, float value) {   \
        name##_counts found = {0};                                                                                     \
        for (int32_t k = 0; k < steps * STEP; k += (int32_t)((bytes) / sizeof *thresholds))                            \
            found -= value > *(const name##_floats *)(thresholds + k);                                                 \
        int32_t rank = 0;                                                                                              \
        for (size_t k = 0; k < (bytes) / sizeof rank; k++)                                                             \
            rank += found[k];                                                                                          \
        return rank;                                                                                                   \
    }

typedef int32_t ranking(const float *thresholds, int32_t steps, float value);
typedef void combine(const words *const *allowed, int32_t inputs, int32_t block, uint64_t *word);

static inline __attribute__((always_inline)) double score_words(const cz_forest *forest, const float *row,
                                                                combine *combined, ranking *ranked, int32_t bits) {
    const words *allowed[CZ_MAX_FEATURES];
    for (int32_t i = 0; i < forest->inputs; i++) {
        const input *in = &forest->input[i];
        int32_t rank = ranked(in->thresholds, in->steps, row[in->feature]);
        allowed[i] = in->allowed + (size_t)rank * (size_t)forest->blocks;
    }
    double sum = 0.0;
    for (int32_t block = 0; block < forest->blocks; block++) {
        uint64_t word[LANES];
        combined(allowed, forest->inputs, block, word);
        sum = add_leaves(forest, word, block, sum, bits);
    }
    return sum;
}

COMBINE(by_16, 16)
RANK(rank_16, 16)
static double score_plain(const cz_forest *forest, const float *row) {
    return score_words(forest, row, by_16, rank_16, 64);
}
static double score_plain_32(const cz_forest *forest, const float *row) {
    return score_words(forest, row, by_16, rank_16, 32);
}

#if defined(__x86_64__) && !defined(CZ_PORTABLE)
COMBINE(by_32, 32)
RANK(rank_32, 32)
__attribute__((target("avx2,bmi,popcnt"))) static double score_avx2(const cz_forest *forest, const float *row) {
    return score_words(forest, row, by_32, rank_32, 64);
}
__attribute__((target("avx2,bmi,popcnt"))) static double score_avx2_32(const cz_forest *forest, const float *row) {
    return score_words(forest, row, by_32, rank_32, 32);
}
#endif

static double score_walked(const cz_forest *forest, const float *row) {
    double sum = 0.0;
    for (int32_t t = 0; t < forest->trees; t++) {
        const node *nodes = forest->nodes + forest->first_node[t];
        int32_t at = forest->first_node[t + 1] > forest->first_node[t] ? 0 : ~0;
        while (at >= 0)
            at = row[nodes[at].feature] <= nodes[at].threshold ? nodes[at].left : nodes[at].right;
        sum += forest->values[forest->first_value[t] + ~at];
    }
    return sum;
}

double cz_forest_score(const cz_forest *forest, const float *row) {
    return forest->score(forest, row);
}

/* ---- building ---- */

static float round_down(double threshold) {
    float found = (float)threshold;
    return (double)found > threshold ? nextafterf(found, -INFINITY) : found;
}

static int rising(const void *a, const void *b) {
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* Distinct thresholds of a feature, rising, into `found`, which has room for all splits. */
static int32_t thresholds_of(const cz_trees *trees, int32_t feature, float *found) {
    int32_t n = 0, kept = 0;
    for (int32_t t = 0; t < trees->count; t++) {
        const cz_tree *tree = &trees->trees[t];
        for (int32_t s = 0; s < tree->leaves - 1; s++) {
            if (tree->splits[s].feature == feature)
                found[n++] = round_down(tree->splits[s].threshold);
        }
    }
    qsort(found, (size_t)n, sizeof *found, rising);
    for (int32_t i = 0; i < n; i++) {
        if (i == 0 || found[i] != found[kept - 1])
            found[kept++] = found[i];
    }
    return kept;
}

/* The place of each leaf from left to right, and for each split the first and one past the last leaf to its left.
 * Children have higher numbers than their split, so that sizes are summed from the last split on. */
static void place_leaves(const cz_tree *tree, int32_t *place, int32_t (*range)[2], int32_t *size) {
    int32_t splits = tree->leaves - 1;
    for (int32_t s = splits - 1; s >= 0; s--) {
        int32_t left = tree->splits[s].left, right = tree->splits[s].right;
        range[s][1] = left >= 0 ? size[left] : 1;
        size[s] = range[s][1] + (right >= 0 ? size[right] : 1);
    }
    place[0] = 0; /* of a tree without a split */
    for (int32_t s = 0; s < splits; s++) {
        int32_t left = tree->splits[s].left, right = tree->splits[s].right;
        if (s == 0)
            range[s][0] = 0;
        int32_t first = range[s][0], middle = range[s][1] += first;
        if (left >= 0)
            range[left][0] = first;
        else
            place[~left] = first;
        if (right >= 0)
            range[right][0] = middle;
        else
            place[~right] = middle;
    }
}

/* Take leaves off a word, by its number among all. */
static void forbid(cz_forest *forest, size_t number, uint64_t leaves) {
    if (forest->bits == 32)
        ((half *)forest->allowed)[number] &= (uint32_t)~leaves;
    else
        ((uint64_t *)forest->allowed)[number] &= ~leaves;
}

static void fill_tree(cz_forest *forest, const cz_tree *tree, int32_t t) {
    int32_t place[64], range[64][2], size[64];
    place_leaves(tree, place, range, size);
    for (int32_t leaf = 0; leaf < tree->leaves; leaf++)
        forest->values[(size_t)t * (size_t)forest->bits + (size_t)place[leaf]] = tree->values[leaf];
    for (int32_t i = 0; i < forest->inputs; i++) {
        const input *in = &forest->input[i];
        size_t lanes = LANES * 64 / (size_t)forest->bits, first = (size_t)(in->allowed - forest->allowed);
        for (int32_t s = 0; s < tree->leaves - 1; s++) {
            if (tree->splits[s].feature != in->feature)
                continue;
            float threshold = round_down(tree->splits[s].threshold);
            uint64_t left = ((2ULL << (range[s][1] - range[s][0] - 1)) - 1) << range[s][0];
            for (int32_t k = 0; k < in->steps * STEP && in->thresholds[k] < INFINITY; k++) {
                if (in->thresholds[k] >= threshold)
                    forbid(forest, (first + (size_t)(k + 1) * (size_t)forest->blocks) * lanes + (size_t)t, left);
            }
        }
    }
}

/* Find every input's thresholds; false where there would be too many words. `room` holds all splits and the padding. */
static bool find_inputs(cz_forest *forest, const cz_trees *trees, int32_t features, float *room, size_t *blocks) {
    size_t most = MOST_BYTES / sizeof(words) / (size_t)forest->blocks, values = 0;
    for (int32_t f = 0; f < features; f++) {
        int32_t n = thresholds_of(trees, f, room);
        if (!n)
            continue;
        input *in = &forest->input[forest->inputs++];
        *in = (input){f, (n + STEP - 1) / STEP, room, NULL};
        values += (size_t)n + 1;
        if (values > most)
            return false;
        for (; n < in->steps * STEP; n++)
            room[n] = INFINITY;
        room += n;
    }
    *blocks = values * (size_t)forest->blocks;
    return true;
}

static void point_inputs(cz_forest *forest) {
    const words *next = forest->allowed;
    for (int32_t i = 0; i < forest->inputs; i++) {
        input *in = &forest->input[i];
        int32_t n = 0;
        while (n < in->steps * STEP && in->thresholds[n] < INFINITY)
            n++;
        in->allowed = next;
        next += (size_t)(n + 1) * (size_t)forest->blocks;
    }
}

static void choose_score(cz_forest *forest) {
    forest->score = forest->bits == 32 ? score_plain_32 : score_plain;
#if defined(__x86_64__) && !defined(CZ_PORTABLE)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi"))
        forest->score = forest->bits == 32 ? score_avx2_32 : score_avx2;
#endif
}

static int no_memory(const char *where, cz_error *error) {
    return cz_fail(error, CZ_NO_MEMORY, "%s: no memory for its trees", where);
}

/* The fast layout; forest->score stays NULL where a tree has too many leaves, or all have too many thresholds. */
static int build_words(cz_forest *forest, const cz_trees *trees, int32_t features, const char *where, cz_error *error) {
    size_t splits = 0, blocks = 0;
    forest->bits = 32;
    for (int32_t t = 0; t < trees->count; t++) {
        if (trees->trees[t].leaves > 64)
            return CZ_OK;
        if (trees->trees[t].leaves > 32)
            forest->bits = 64;
        splits += (size_t)trees->trees[t].leaves - 1;
    }
    int32_t lanes = LANES * 64 / forest->bits;
    forest->blocks = (trees->count + lanes - 1) / lanes;
    if ((size_t)forest->blocks > MOST_BYTES / sizeof(words))
        return CZ_OK;
    forest->thresholds = calloc(splits + (size_t)features * STEP, sizeof *forest->thresholds);
    if (!forest->thresholds)
        return no_memory(where, error);
    if (!find_inputs(forest, trees, features, forest->thresholds, &blocks))
        return CZ_OK;
    forest->values = calloc((size_t)forest->blocks * LANES * 64, sizeof *forest->values);
    forest->allowed = blocks ? aligned_alloc(sizeof(words), blocks * sizeof(words)) : NULL;
    if (!forest->values || (blocks && !forest->allowed))
        return no_memory(where, error);
    if (blocks)
        memset(forest->allowed, 0xff, blocks * sizeof(words));
    point_inputs(forest);
    for (int32_t t = 0; t < trees->count; t++)
        fill_tree(forest, &trees->trees[t], t);
    choose_score(forest);
    return CZ_OK;
}

static int build_nodes(cz_forest *forest, const cz_trees *trees, const char *where, cz_error *error) {
    size_t leaves = 0, count = (size_t)trees->count;
    for (size_t t = 0; t < count; t++)
        leaves += (size_t)trees->trees[t].leaves;
    if (leaves > INT32_MAX)
        return cz_fail(error, CZ_BAD_BUNDLE, "%s: more leaves than can be numbered", where);
    forest->first_node = calloc(count + 1, sizeof *forest->first_node);
    forest->first_value = calloc(count + 1, sizeof *forest->first_value);
    forest->nodes = calloc(leaves, sizeof *forest->nodes);
    forest->values = calloc(leaves, sizeof *forest->values);
    if (!forest->first_node || !forest->first_value || !forest->nodes || !forest->values)
        return no_memory(where, error);
    for (size_t t = 0; t < count; t++) {
        const cz_tree *tree = &trees->trees[t];
        node *nodes = forest->nodes + forest->first_node[t];
        for (int32_t s = 0; s < tree->leaves - 1; s++) {
            const cz_split *split = &tree->splits[s];
            nodes[s] = (node){round_down(split->threshold), split->feature, split->left, split->right};
        }
        memcpy(forest->values + forest->first_value[t], tree->values, (size_t)tree->leaves * sizeof *tree->values);
        forest->first_node[t + 1] = forest->first_node[t] + tree->leaves - 1;
        forest->first_value[t + 1] = forest->first_value[t] + tree->leaves;
    }
    forest->score = score_walked;
    return CZ_OK;
}

int cz_forest_read(const unsigned char *data, size_t size, int32_t features, const char *where, cz_forest **forest,
                   cz_error *error) {
    cz_trees trees;
    *forest = NULL;
    if (features < 1 || features > CZ_MAX_FEATURES)
        return cz_fail(error, CZ_BAD_BUNDLE, "%s: %d features: 1 to %d are computed", where, features, CZ_MAX_FEATURES);
    int result = cz_trees_read(data, size, features, where, &trees, error);
    if (result != CZ_OK)
        return result;
    cz_forest *made = calloc(1, sizeof *made);
    if (!made)
        result = no_memory(where, error);
    if (result == CZ_OK)
        made->trees = trees.count;
    if (result == CZ_OK)
        result = build_words(made, &trees, features, where, error);
    if (result == CZ_OK && !made->score)
        result = build_nodes(made, &trees, where, error);
    cz_trees_free(&trees);
    if (result == CZ_OK)
        *forest = made;
    else
        cz_forest_free(made);
    return result;
}

void cz_forest_free(cz_forest *forest) {
    if (!forest)
        return;
    free(forest->thresholds);
    free(forest->allowed);
    free(forest->first_node);
    free(forest->first_value);
    free(forest->nodes);
    free(forest->values);
    free(forest);
}
