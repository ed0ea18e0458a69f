/* A small forest grown from rows: kernels/reuse/own.py, fit and predict.
 *
 * Sums run over rows in their order, as the kernel's do, so trees are equal bit for bit.
 */
#include <string.h>

#include "reuse_parts.h"

#define RATE 0.2
#define LEAST_GAIN 1e-6
enum { DIGIT = 11, DIGITS = 1 << DIGIT };

void cz_grower_new(cz_grower *grower, cz_memory *memory, int64_t rows)
{
    size_t n = (size_t)rows;
    grower->bins = cz_memory_scratch(memory, n, CZ_INPUTS);
    grower->node = cz_memory_scratch(memory, n, sizeof *grower->node);
    grower->residuals = cz_memory_scratch(memory, n, sizeof *grower->residuals);
    grower->column = cz_memory_scratch(memory, n, sizeof *grower->column);
    grower->other = cz_memory_scratch(memory, n, sizeof *grower->other);
    grower->cells = cz_memory_scratch(memory, CZ_LEAVES / 2, sizeof *grower->cells);
}

/* Floats as numbers of the same order. */
static inline uint32_t key_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits & UINT32_C(0x80000000) ? ~bits : bits | UINT32_C(0x80000000);
}

static void pass(const float *from, float *to, int64_t n, int shift)
{
    int64_t starts[DIGITS + 1] = {0};
    for (int64_t i = 0; i < n; i++)
        starts[(key_of(from[i]) >> shift & (DIGITS - 1)) + 1]++;
    for (int digit = 0; digit < DIGITS; digit++)
        starts[digit + 1] += starts[digit];
    for (int64_t i = 0; i < n; i++)
        to[starts[key_of(from[i]) >> shift & (DIGITS - 1)]++] = from[i];
}

/* Values that cut an input of the drawn rows into bins of like size. */
static void cut(cz_grower *grower, const float *rows, const int32_t *drawn, int64_t n, int input)
{
    for (int64_t i = 0; i < n; i++)
        grower->column[i] = rows[(int64_t)drawn[i] * CZ_INPUTS + input];
    pass(grower->column, grower->other, n, 0);
    pass(grower->other, grower->column, n, DIGIT);
    pass(grower->column, grower->other, n, 2 * DIGIT);
    for (int k = 0; k < CZ_BINS - 1; k++)
        grower->edges[input][k] = grower->other[(k + 1) * n / CZ_BINS];
}

/* How many of the edges lie below a value. */
static inline uint8_t bin_of(const float *edges, float value)
{
    int below = 0;
    for (int step = CZ_BINS / 2; step > 0; step /= 2)
        below += edges[below + step - 1] < value ? step : 0;
    return (uint8_t)below;
}

static void bin(cz_grower *grower, const float *rows, const int32_t *drawn, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        for (int f = 0; f < CZ_INPUTS; f++)
            grower->bins[i * CZ_INPUTS + f] = bin_of(grower->edges[f], rows[(int64_t)drawn[i] * CZ_INPUTS + f]);
}

/* Sum up the rows of the level whose first node is `first`. */
static void gather(cz_grower *grower, int64_t n, int first)
{
    memset(grower->cells, 0, (size_t)(first + 1) * sizeof *grower->cells);
    for (int64_t i = 0; i < n; i++) {
        double (*cells)[CZ_BINS][2] = grower->cells[grower->node[i] - first], rest = grower->residuals[i];
        const uint8_t *bins = grower->bins + i * CZ_INPUTS;
        for (int f = 0; f < CZ_INPUTS; f++) {
            double *cell = cells[f][bins[f]];
            cell[0] += rest;
            cell[1] += 1;
        }
    }
}

/* The input and the last bin below the cut that lower the squared error most; input -1 if none does. */
static int best(double (*cells)[CZ_BINS][2], int *last)
{
    double all_rows = 0.0, all_rest = 0.0, most = LEAST_GAIN;
    int input = -1;
    *last = CZ_BINS;
    for (int k = 0; k < CZ_BINS; k++) {
        all_rest += cells[0][k][0];
        all_rows += cells[0][k][1];
    }
    for (int f = 0; f < CZ_INPUTS; f++) {
        double low = 0.0, below = 0.0;
        for (int k = 0; k < CZ_BINS - 1; k++) {
            below += cells[f][k][0];
            low += cells[f][k][1];
            double high = all_rows - low, above = all_rest - below;
            if (low < CZ_LEAST || high < CZ_LEAST)
                continue;
            double gain = below * below / low + above * above / high - all_rest * all_rest / all_rows;
            if (gain > most) {
                input = f;
                *last = k;
                most = gain;
            }
        }
    }
    return input;
}

/* Split the nodes of a level, and send its rows on. */
static void split(cz_grower *grower, int64_t n, int first, cz_grown_tree *tree)
{
    int last[CZ_LEAVES / 2];
    gather(grower, n, first);
    for (int node = 0; node <= first; node++) {
        int input = best(grower->cells[node], &last[node]);
        tree->inputs[first + node] = input < 0 ? 0 : input;
        tree->cuts[first + node] = input < 0 ? INFINITY : grower->edges[input][last[node]];
    }
    for (int64_t i = 0; i < n; i++) {
        int node = grower->node[i];
        int high = grower->bins[i * CZ_INPUTS + tree->inputs[node]] > last[node - first];
        grower->node[i] = (uint8_t)(2 * node + 1 + high);
    }
}

static void grow(cz_grower *grower, int64_t n, cz_grown_tree *tree)
{
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
                   int64_t n)
{
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

float cz_grown_score(const cz_grown *trees, const float *row)
{
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
