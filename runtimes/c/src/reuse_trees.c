/* A small forest grown from rows: kernels/reuse/own.py, fit and predict.
 *
 * Sums run over rows in their order, as the kernel's do, so trees are equal bit for bit.
 */
#include <string.h>

#include "reuse_parts.h"

#define RATE 0.2
#define LEAST_GAIN 1e-6
enum { DIGIT = 11, DIGITS = 1 << DIGIT };

typedef double cell __attribute__((vector_size(16))); /* of the rows of a bin: sum of their residuals, how many */

void cz_grower_new(cz_grower *grower, cz_memory *memory, int64_t rows) {
    size_t n = (size_t)rows;
    grower->cells = cz_memory_scratch(memory, n, CZ_INPUTS * sizeof *grower->cells);
    grower->node = cz_memory_scratch(memory, n, sizeof *grower->node);
    grower->residuals = cz_memory_scratch(memory, n, sizeof *grower->residuals);
    grower->order = cz_memory_scratch(memory, n, sizeof *grower->order);
    grower->column = cz_memory_scratch(memory, n, sizeof *grower->column);
    grower->other = cz_memory_scratch(memory, n, sizeof *grower->other);
}

/* Floats as numbers of the same order. */
static inline uint32_t key_of(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits & UINT32_C(0x80000000) ? ~bits : bits | UINT32_C(0x80000000);
}

static void pass(const float *from, float *to, int64_t n, int shift) {
    int64_t starts[DIGITS + 1] = {0};
    for (int64_t i = 0; i < n; i++)
        starts[(key_of(from[i]) >> shift & (DIGITS - 1)) + 1]++;
    for (int digit = 0; digit < DIGITS; digit++)
        starts[digit + 1] += starts[digit];
    for (int64_t i = 0; i < n; i++)
        to[starts[key_of(from[i]) >> shift & (DIGITS - 1)]++] = from[i];
}

/* Values that cut an input of the drawn rows into bins of like size. */
static void cut(cz_grower *grower, const float *rows, const int32_t *drawn, int64_t n, int input) {
    for (int64_t i = 0; i < n; i++)
        grower->column[i] = rows[(int64_t)drawn[i] * CZ_INPUTS + input];
    pass(grower->column, grower->other, n, 0);
    pass(grower->other, grower->column, n, DIGIT);
    pass(grower->column, grower->other, n, 2 * DIGIT);
    for (int k = 0; k < CZ_BINS - 1; k++)
        grower->edges[input][k] = grower->other[(k + 1) * n / CZ_BINS];
}

/* How many of the edges lie below a value. */
static inline uint8_t bin_of(const float *edges, float value) {
    int below = 0;
    for (int step = CZ_BINS / 2; step > 0; step /= 2)
        below += edges[below + step - 1] < value ? step : 0;
    return (uint8_t)below;
}

/* Leave out the inputs of one bin, which split nothing; but the first stays, since its sums are those of all rows. */
static void find_varied(cz_grower *grower, const float *rows, const int32_t *drawn, int64_t n) {
    grower->n_varied = 0;
    for (int f = 0; f < CZ_INPUTS; f++) {
        uint8_t first = bin_of(grower->edges[f], rows[(int64_t)drawn[0] * CZ_INPUTS + f]);
        bool varied = f == 0;
        for (int64_t i = 1; i < n && !varied; i++)
            varied = bin_of(grower->edges[f], rows[(int64_t)drawn[i] * CZ_INPUTS + f]) != first;
        if (varied)
            grower->varied[grower->n_varied++] = f;
    }
}

static void bin(cz_grower *grower, const float *rows, const int32_t *drawn, int64_t n) {
    find_varied(grower, rows, drawn, n);
    for (int64_t i = 0; i < n; i++) {
        const float *row = rows + (int64_t)drawn[i] * CZ_INPUTS;
        for (int v = 0; v < grower->n_varied; v++) {
            int f = grower->varied[v];
            grower->cells[i * CZ_INPUTS + v] = (uint16_t)(v * CZ_BINS + bin_of(grower->edges[f], row[f]));
        }
    }
}

/* Sum up some rows by varied input and bin. */
static void gather(const cz_grower *grower, const int32_t *order, int64_t n, cell *sums) {
    memset(sums, 0, (size_t)(grower->n_varied * CZ_BINS) * sizeof *sums);
    for (int64_t k = 0; k < n; k++) {
        const uint16_t *cells = grower->cells + (int64_t)order[k] * CZ_INPUTS;
        cell one = {grower->residuals[order[k]], 1};
        for (int v = 0; v < grower->n_varied; v++)
            sums[cells[v]] += one;
    }
}

/* The varied input and the last bin below the cut that lower the squared error most; -1 if none does. */
static int best(const cz_grower *grower, const cell *sums, int *last) {
    double all_rows = 0.0, all_rest = 0.0, most = LEAST_GAIN;
    int input = -1;
    *last = CZ_BINS;
    for (int k = 0; k < CZ_BINS; k++) {
        all_rest += sums[k][0];
        all_rows += sums[k][1];
    }
    for (int v = 0; v < grower->n_varied; v++) {
        double low = 0.0, below = 0.0;
        for (int k = 0; k < CZ_BINS - 1; k++) {
            below += sums[v * CZ_BINS + k][0];
            low += sums[v * CZ_BINS + k][1];
            double high = all_rows - low, above = all_rest - below;
            if (low < CZ_LEAST || high < CZ_LEAST)
                continue;
            double gain = below * below / low + above * above / high - all_rest * all_rest / all_rows;
            if (gain > most) {
                input = v;
                *last = k;
                most = gain;
            }
        }
    }
    return input;
}

/* Order the rows by node; `ends` past the last of each node of the level. */
static void sort(cz_grower *grower, int64_t n, int first, int64_t *ends) {
    for (int node = 0; node <= first; node++)
        ends[node] = 0;
    for (int64_t i = 0; i < n; i++)
        ends[grower->node[i] - first]++;
    for (int64_t node = 0, before = 0; node <= first; node++) {
        int64_t rows = ends[node];
        ends[node] = before;
        before += rows;
    }
    for (int64_t i = 0; i < n; i++)
        grower->order[ends[grower->node[i] - first]++] = (int32_t)i;
}

/* Split the nodes of a level, and send its rows on. */
static void split(cz_grower *grower, int64_t n, int first, cz_grown_tree *tree) {
    int64_t ends[CZ_LEAVES / 2], from = 0;
    cell sums[CZ_INPUTS * CZ_BINS];
    sort(grower, n, first, ends);
    for (int node = 0; node <= first; node++) {
        int last, at = first + node;
        gather(grower, grower->order + from, ends[node] - from, sums);
        int v = best(grower, sums, &last), column = v < 0 ? 0 : v;
        tree->inputs[at] = v < 0 ? 0 : grower->varied[v];
        tree->cuts[at] = v < 0 ? INFINITY : grower->edges[grower->varied[v]][last];
        for (; from < ends[node]; from++) {
            int32_t i = grower->order[from];
            int bin = grower->cells[(int64_t)i * CZ_INPUTS + column] % CZ_BINS;
            grower->node[i] = (uint8_t)(2 * at + 1 + (bin > last));
        }
    }
}

static void grow(cz_grower *grower, int64_t n, cz_grown_tree *tree) {
    memset(grower->node, 0, (size_t)n);
    for (int depth = 0; depth < CZ_DEPTH; depth++)
        split(grower, n, (1 << depth) - 1, tree);
    double total[CZ_LEAVES] = {0}, rows[CZ_LEAVES];
    for (int leaf = 0; leaf < CZ_LEAVES; leaf++)
        rows[leaf] = 1;
    for (int64_t i = 0; i < n; i++) {
        total[grower->node[i] - CZ_INNER] += grower->residuals[i];
        rows[grower->node[i] - CZ_INNER] += 1;
    }
    for (int leaf = 0; leaf < CZ_LEAVES; leaf++)
        tree->leaves[leaf] = RATE * total[leaf] / rows[leaf];
    for (int64_t i = 0; i < n; i++)
        grower->residuals[i] -= tree->leaves[grower->node[i] - CZ_INNER];
}

void cz_grown_fit(cz_grown *trees, cz_grower *grower, const float *rows, const float *target, const int32_t *drawn,
                  int64_t n) {
    for (int f = 0; f < CZ_INPUTS; f++)
        cut(grower, rows, drawn, n, f);
    bin(grower, rows, drawn, n);
    double sum = 0.0;
    for (int64_t i = 0; i < n; i++)
        sum += target[drawn[i]];
    trees->base = sum / (double)n;
    for (int64_t i = 0; i < n; i++)
        grower->residuals[i] = target[drawn[i]] - trees->base;
    for (int64_t t = 0; t < trees->n; t++)
        grow(grower, n, &trees->tree[t]);
}

float cz_grown_score(const cz_grown *trees, const float *row) {
    double score = trees->base;
    for (int64_t t = 0; t < trees->n; t++) {
        const cz_grown_tree *tree = &trees->tree[t];
        int node = 0;
        for (int depth = 0; depth < CZ_DEPTH; depth++)
            node = 2 * node + 1 + (row[tree->inputs[node]] > tree->cuts[node]);
        score += tree->leaves[node - CZ_INNER];
    }
    return (float)score;
}
