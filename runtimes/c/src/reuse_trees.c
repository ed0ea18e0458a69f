/* A small forest grown from rows: kernels/reuse/own.py, fit and predict, in units of about as much work each.
 *
 * Splits are found by sums of whole numbers, as in the kernel, and where these do not decide by float64 sums over rows
 * in their order, so trees are equal bit for bit. A unit takes some rows through one phase; of which phases a forest is
 * made follows from its rows and trees alone, so their number is known before.
 */
#include <string.h>

#include "reuse_parts.h"

#define RATE 0.2
#define LEAST_GAIN 1e-6
enum { WALKED = 8 }; /* trees walked at once */
enum { DIGIT = 11, DIGITS = 1 << DIGIT, PASSES = 3 };
enum { CELLS = CZ_INPUTS * CZ_BINS };
/* Inputs are sorted one after the other, rows binned and targets centred; then a tree's levels, and its leaves. */
enum { COUNT, ORDER, BIN, MEAN, CENTRE, PACK, PILE, SPLIT, GATHER, DECIDE, SEND, SUM, TAKE };
/* Rows of a unit: of one number of each row, of one that is fetched or sorted, of all inputs, and of all looked up. */
enum { NUMBERS = 4096, SORTED = 2048, FETCHED = 1024, INPUTS = 512, LOOKED_UP = 64 };
static const int64_t rows_of[] = {FETCHED, SORTED, LOOKED_UP, NUMBERS, NUMBERS, NUMBERS, INPUTS,
                                  1,       INPUTS, 1,         NUMBERS, NUMBERS, NUMBERS};

void cz_grower_new(cz_grower *grower, cz_memory *memory, int64_t rows, int64_t trees) {
    size_t n = (size_t)rows;
    grower->tree = cz_memory_scratch(memory, (size_t)trees, sizeof *grower->tree);
    grower->cells = cz_memory_scratch(memory, n, CZ_INPUTS * sizeof *grower->cells);
    grower->residuals = cz_memory_scratch(memory, n, sizeof *grower->residuals);
    grower->order = cz_memory_scratch(memory, n, sizeof *grower->order);
    grower->next = cz_memory_scratch(memory, n, sizeof *grower->next);
    grower->column = cz_memory_scratch(memory, n, sizeof *grower->column);
    grower->other = cz_memory_scratch(memory, n, sizeof *grower->other);
    grower->counts = cz_memory_scratch(memory, PASSES * DIGITS, sizeof *grower->counts);
    grower->packed = cz_memory_scratch(memory, n, sizeof *grower->packed);
    grower->piles = cz_memory_scratch(memory, CZ_INNER * CELLS, sizeof *grower->piles);
    grower->sums = cz_memory_scratch(memory, CZ_LEAVES / 2 * CELLS, sizeof *grower->sums);
}

static int64_t parts(int64_t n, int64_t rows) {
    return (n + rows - 1) / rows;
}

void cz_grower_begin(cz_grower *grower, int64_t trees, const float *rows, const float *target, const int32_t *drawn,
                     int64_t n) {
    int64_t numbers = parts(n, NUMBERS), inputs = parts(n, INPUTS);
    grower->rows = rows;
    grower->target = target;
    grower->drawn = drawn;
    grower->n = n;
    grower->trees = trees;
    grower->units = CZ_INPUTS * (parts(n, FETCHED) + PASSES * parts(n, SORTED)) + parts(n, LOOKED_UP) + 2 * numbers +
                    trees * (CZ_DEPTH * (2 * inputs + numbers) + 2 * CZ_INNER + 3 * numbers);
    grower->done = grower->at = grower->part = 0;
    grower->phase = COUNT;
    grower->level = grower->n_varied = 0;
    grower->base = grower->size = grower->largest = 0.0;
}

/* Floats as numbers of the same order. */
static inline uint32_t key_of(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits & UINT32_C(0x80000000) ? ~bits : bits | UINT32_C(0x80000000);
}

static inline uint32_t digit_of(float value, int pass) {
    return key_of(value) >> (pass * DIGIT) & (DIGITS - 1);
}

/* Take an input of some rows, and count its digits; those of all rows are then the places at which they begin. */
static void count(cz_grower *grower, int64_t first, int64_t end) {
    if (first == 0)
        memset(grower->counts, 0, PASSES * DIGITS * sizeof *grower->counts);
    for (int64_t i = first; i < end; i++) {
        float value = grower->rows[(int64_t)grower->drawn[i] * CZ_INPUTS + grower->at];
        grower->column[i] = value;
        for (int pass = 0; pass < PASSES; pass++)
            grower->counts[pass * DIGITS + (int)digit_of(value, pass)]++;
    }
    for (int pass = 0; pass < PASSES && end == grower->n; pass++) {
        uint32_t *counts = grower->counts + pass * DIGITS, before = 0;
        for (int digit = 0; digit < DIGITS; digit++) {
            uint32_t own = counts[digit];
            counts[digit] = before;
            before += own;
        }
    }
}

/* Order an input by one digit more, the least first. */
static void order(cz_grower *grower, int64_t first, int64_t end) {
    uint32_t *places = grower->counts + grower->level * DIGITS;
    const float *from = grower->level == 1 ? grower->other : grower->column;
    float *to = grower->level == 1 ? grower->column : grower->other;
    for (int64_t i = first; i < end; i++)
        to[places[digit_of(from[i], grower->level)]++] = from[i];
}

/* How many of the edges lie below a value. */
static inline uint8_t bin_of(const float *edges, float value) {
    int below = 0;
    for (int step = CZ_BINS / 2; step > 0; step /= 2)
        below += edges[below + step - 1] < value ? step : 0;
    return (uint8_t)below;
}

/* Values that cut an input into bins of like size. An input of one bin is left out, since it splits nothing; but the
 * first stays, since its sums are those of all rows. */
static void cut(cz_grower *grower) {
    const float *sorted = grower->other;
    float *edges = grower->edges[grower->at];
    for (int k = 0; k < CZ_BINS - 1; k++)
        edges[k] = sorted[(k + 1) * grower->n / CZ_BINS];
    if (grower->at == 0 || bin_of(edges, sorted[0]) != bin_of(edges, sorted[grower->n - 1]))
        grower->varied[grower->n_varied++] = (int)grower->at;
}

static void bin(cz_grower *grower, int64_t first, int64_t end) {
    for (int64_t i = first; i < end; i++) {
        const float *row = grower->rows + (int64_t)grower->drawn[i] * CZ_INPUTS;
        for (int v = 0; v < grower->n_varied; v++) {
            int f = grower->varied[v];
            grower->cells[i * CZ_INPUTS + v] = (uint16_t)(v * CZ_BINS + bin_of(grower->edges[f], row[f]));
        }
    }
}

static void mean(cz_grower *grower, int64_t first, int64_t end) {
    for (int64_t i = first; i < end; i++)
        grower->base += grower->target[grower->drawn[i]];
    if (end == grower->n)
        grower->base /= (double)grower->n;
}

/* A row's residual for the next tree. */
static inline void leave(cz_grower *grower, int64_t i, double residual) {
    double size = fabs(residual);
    grower->residuals[i] = residual;
    grower->size += size;
    grower->largest = size > grower->largest ? size : grower->largest;
}

static void centre(cz_grower *grower, int64_t first, int64_t end) {
    for (int64_t i = first; i < end; i++) {
        leave(grower, i, grower->target[grower->drawn[i]] - grower->base);
        grower->order[i] = (int32_t)i;
    }
}

/* Residuals as whole numbers, whose sums lose nothing. The gain of a split may then be wrong by a rounding of each row,
 * and the float64 sum that it stands for by as many in the last place. */
static void pack(cz_grower *grower, int64_t first, int64_t end) {
    if (first == 0) {
        double n = (double)grower->n;
        grower->bits = 64 - __builtin_clzll((unsigned long long)grower->n);
        grower->one = exp2(floor(62 - grower->bits - log2(grower->size + n + 1)));
        grower->wrong = 8 * (grower->size + 1) * (1 / grower->one + n * (grower->largest + 1) * 0x1p-52);
        memset(grower->piles, 0, CZ_INNER * CELLS * sizeof *grower->piles);
        grower->known[0] = grower->n >= 2 * CZ_LEAST;
    }
    for (int64_t i = first; i < end; i++)
        grower->packed[i] = (int64_t)floor(grower->residuals[i] * grower->one + 0.5) * ((int64_t)1 << grower->bits) + 1;
}

/* Rows in order[first .. end - 1] of a node of the level: the first of them, and past the last. */
static inline int64_t from_of(const cz_grower *grower, int node, int64_t first) {
    return grower->starts[node] > first ? grower->starts[node] : first;
}

static inline int64_t to_of(const cz_grower *grower, int node, int64_t end) {
    return grower->starts[node + 1] < end ? grower->starts[node + 1] : end;
}

static inline int64_t size_of(const cz_grower *grower, int node) {
    return grower->starts[node + 1] - grower->starts[node];
}

/* The number in the tree of a node of the level. */
static inline int number_of(const cz_grower *grower, int node) {
    return (1 << grower->level) - 1 + node;
}

/* Of two nodes below one, the sums of the larger are what the smaller leaves of those above. */
static inline bool is_rest(const cz_grower *grower, int node) {
    int64_t own = size_of(grower, node), other = grower->level == 0 ? own : size_of(grower, node ^ 1);
    return grower->level > 0 && (own > other || (own == other && node % 2 == 1));
}

/* Sum up some packed rows by node, varied input and bin. */
static void pile(cz_grower *grower, int64_t first, int64_t end) {
    for (int node = 0; node < 1 << grower->level; node++) {
        int number = number_of(grower, node);
        int64_t *piles = grower->piles + number * CELLS;
        bool used = grower->known[number] || (grower->level > 0 && grower->known[((number + 1) ^ 1) - 1]);
        int64_t to = used && !is_rest(grower, node) ? to_of(grower, node, end) : 0;
        for (int64_t k = from_of(grower, node, first); k < to; k++) {
            const uint16_t *cells = grower->cells + (int64_t)grower->order[k] * CZ_INPUTS;
            int64_t one = grower->packed[grower->order[k]];
            for (int v = 0; v < grower->n_varied; v++)
                piles[cells[v]] += one;
        }
    }
}

/* Sum up some rows of nodes that are not sure by varied input and bin, in the order of the rows. */
static void gather(cz_grower *grower, int64_t first, int64_t end) {
    for (int node = 0; node < 1 << grower->level; node++) {
        cz_cell *sums = grower->sums + node * CELLS;
        int64_t to = grower->unsure[node] ? to_of(grower, node, end) : 0;
        for (int64_t k = from_of(grower, node, first); k < to; k++) {
            const uint16_t *cells = grower->cells + (int64_t)grower->order[k] * CZ_INPUTS;
            cz_cell one = {grower->residuals[grower->order[k]], 1};
            for (int v = 0; v < grower->n_varied; v++)
                sums[cells[v]] += one;
        }
    }
}

/* The last cell, of the varied input and the bin below the cut that lower the squared error most; -1 if none does.
 * `lead` is by how much more than the best of all others that change anything. */
static int best(const cz_grower *grower, const cz_cell *sums, double *lead) {
    double all_rows = 0.0, all_rest = 0.0, most = LEAST_GAIN, second = LEAST_GAIN;
    int last = -1;
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
            if (low < CZ_LEAST || high < CZ_LEAST || sums[v * CZ_BINS + k][1] == 0)
                continue;
            double gain = below * below / low + above * above / high - all_rest * all_rest / all_rows;
            if (gain > most) {
                last = v * CZ_BINS + k;
                second = most;
                most = gain;
            } else if (gain > second) {
                second = gain;
            }
        }
    }
    *lead = most - second;
    return last;
}

/* Split a node of the level at a cell, or not (-1); where its rows go, low ones first. */
static void cut_node(cz_grower *grower, int node, int last) {
    cz_grown_tree *tree = &grower->tree[grower->at];
    int v = last / CZ_BINS, number = number_of(grower, node);
    int64_t low = size_of(grower, node);
    tree->inputs[number] = last < 0 ? 0 : grower->varied[v];
    tree->cuts[number] = last < 0 ? INFINITY : grower->edges[grower->varied[v]][last % CZ_BINS];
    grower->column_of[node] = last < 0 ? 0 : v;
    grower->last[node] = last < 0 ? CZ_BINS : last;
    if (last >= 0) {
        const int64_t *piles = grower->piles + number * CELLS;
        low = 0;
        for (int cell = v * CZ_BINS; cell <= last; cell++)
            low += piles[cell] & (((int64_t)1 << grower->bits) - 1);
    }
    grower->place[node][0] = grower->starts[node];
    grower->place[node][1] = grower->starts[node] + low;
    grower->known[2 * number + 1] = last >= 0 && low >= 2 * CZ_LEAST;
    grower->known[2 * number + 2] = last >= 0 && size_of(grower, node) - low >= 2 * CZ_LEAST;
}

static void take_rest(int64_t *piles, const int64_t *above, const int64_t *beside) {
    for (int cell = 0; cell < CELLS; cell++)
        piles[cell] = above[cell] - beside[cell];
}

/* Split a node of the level if its piles say where; a node for which another split is as good within what they may be
 * wrong by is not sure. */
static void split(cz_grower *grower, int node) {
    int number = number_of(grower, node), last = -1;
    int64_t *piles = grower->piles + number * CELLS;
    cz_cell *sums = grower->sums + node * CELLS;
    double lead;
    grower->unsure[node] = false;
    if (grower->known[number]) {
        if (is_rest(grower, node))
            take_rest(piles, grower->piles + (number - 1) / 2 * CELLS,
                      grower->piles + (((number + 1) ^ 1) - 1) * CELLS);
        for (int cell = 0; cell < grower->n_varied * CZ_BINS; cell++) {
            int64_t rows = piles[cell] & (((int64_t)1 << grower->bits) - 1);
            sums[cell] = (cz_cell){(double)(piles[cell] >> grower->bits) / grower->one, (double)rows};
        }
        last = best(grower, sums, &lead);
        grower->unsure[node] = lead <= 2 * grower->wrong;
        if (grower->unsure[node])
            memset(sums, 0, CELLS * sizeof *sums);
    }
    cut_node(grower, node, last);
}

/* Split a node that was not sure by its float64 sums. */
static void decide(cz_grower *grower, int node) {
    double lead;
    if (grower->unsure[node])
        cut_node(grower, node, best(grower, grower->sums + node * CELLS, &lead));
}

/* Send some rows to the nodes below, each side in its order. */
static void send(cz_grower *grower, int64_t first, int64_t end) {
    for (int node = 0; node < 1 << grower->level; node++) {
        int64_t *place = grower->place[node];
        for (int64_t k = from_of(grower, node, first); k < to_of(grower, node, end); k++) {
            int32_t i = grower->order[k];
            bool high = grower->cells[(int64_t)i * CZ_INPUTS + grower->column_of[node]] > grower->last[node];
            grower->next[place[high]++] = i;
        }
    }
}

static void swap_order(cz_grower *grower) {
    int32_t *sent = grower->next;
    grower->next = grower->order;
    grower->order = sent;
}

/* The nodes below are those of the next level. */
static void descend(cz_grower *grower) {
    for (int node = (1 << grower->level) - 1; node >= 0; node--) {
        grower->starts[2 * node + 2] = grower->starts[node + 1];
        grower->starts[2 * node + 1] = grower->place[node][0];
    }
    swap_order(grower);
    grower->level++;
}

static void sum(cz_grower *grower, int64_t first, int64_t end) {
    cz_grown_tree *tree = &grower->tree[grower->at];
    for (int leaf = 0; leaf < CZ_LEAVES; leaf++) {
        double total = first == 0 ? 0.0 : tree->leaves[leaf];
        for (int64_t k = from_of(grower, leaf, first); k < to_of(grower, leaf, end); k++)
            total += grower->residuals[grower->order[k]];
        tree->leaves[leaf] = total;
    }
    for (int leaf = 0; leaf < CZ_LEAVES && end == grower->n; leaf++)
        tree->leaves[leaf] = RATE * tree->leaves[leaf] / (double)(grower->starts[leaf + 1] - grower->starts[leaf] + 1);
}

/* Take the leaves from the residuals; the next tree begins with the rows in their order. */
static void take(cz_grower *grower, int64_t first, int64_t end) {
    const cz_grown_tree *tree = &grower->tree[grower->at];
    if (first == 0)
        grower->size = grower->largest = 0.0;
    for (int leaf = 0; leaf < CZ_LEAVES; leaf++)
        for (int64_t k = from_of(grower, leaf, first); k < to_of(grower, leaf, end); k++)
            leave(grower, grower->order[k], grower->residuals[grower->order[k]] - tree->leaves[leaf]);
    for (int64_t i = first; i < end; i++)
        grower->next[i] = (int32_t)i;
}

/* All rows are one node. */
static void begin_tree(cz_grower *grower, int64_t t) {
    grower->at = t;
    grower->level = 0;
    grower->starts[0] = 0;
    grower->starts[1] = grower->n;
    grower->phase = PACK;
}

static void run(cz_grower *grower, int64_t first, int64_t end) {
    switch (grower->phase) {
    case COUNT:
        count(grower, first, end);
        break;
    case ORDER:
        order(grower, first, end);
        break;
    case BIN:
        bin(grower, first, end);
        break;
    case MEAN:
        mean(grower, first, end);
        break;
    case CENTRE:
        centre(grower, first, end);
        break;
    case PACK:
        pack(grower, first, end);
        break;
    case PILE:
        pile(grower, first, end);
        break;
    case SPLIT:
        split(grower, (int)first);
        break;
    case GATHER:
        gather(grower, first, end);
        break;
    case DECIDE:
        decide(grower, (int)first);
        break;
    case SEND:
        send(grower, first, end);
        break;
    case SUM:
        sum(grower, first, end);
        break;
    default:
        take(grower, first, end);
    }
}

/* The phase after one through which all rows went. `level` is of the tree, or the digit of the input. */
static void go_on(cz_grower *grower) {
    switch (grower->phase) {
    case COUNT:
        grower->level = 0;
        grower->phase = ORDER;
        break;
    case ORDER:
        if (++grower->level < PASSES)
            break;
        cut(grower);
        grower->phase = ++grower->at < CZ_INPUTS ? COUNT : BIN;
        break;
    case CENTRE:
        begin_tree(grower, 0);
        break;
    case SEND:
        descend(grower);
        grower->phase = grower->level < CZ_DEPTH ? PILE : SUM;
        break;
    case TAKE:
        swap_order(grower);
        begin_tree(grower, grower->at + 1);
        break;
    default: /* BIN, MEAN, PACK to DECIDE, SUM */
        grower->phase++;
    }
}

void cz_grower_work(cz_grower *grower, int64_t until) {
    for (; grower->done < until; grower->done++) {
        bool of_nodes = grower->phase == SPLIT || grower->phase == DECIDE;
        int64_t n = of_nodes ? (int64_t)1 << grower->level : grower->n, rows = rows_of[grower->phase];
        int64_t first = grower->part * rows, end = n - first < rows ? n : first + rows;
        run(grower, first, end);
        grower->part = end < n ? grower->part + 1 : 0;
        if (end == n)
            go_on(grower);
    }
}

void cz_grower_hand_over(const cz_grower *grower, cz_grown *trees) {
    memcpy(trees->tree, grower->tree, (size_t)grower->trees * sizeof *trees->tree);
    trees->base = grower->base;
}

/* Add the leaves of some trees, which are walked at the same time: each step of one waits for memory. */
static inline double add_leaves(double score, const cz_grown_tree *tree, int n, const float *row) {
    int node[WALKED] = {0};
    for (int depth = 0; depth < CZ_DEPTH; depth++)
#pragma GCC unroll 8
        for (int t = 0; t < n; t++)
            node[t] = 2 * node[t] + 1 + (row[tree[t].inputs[node[t]]] > tree[t].cuts[node[t]]);
    for (int t = 0; t < n; t++)
        score += tree[t].leaves[node[t] - CZ_INNER];
    return score;
}

float cz_grown_score(const cz_grown *trees, const float *row) {
    double score = trees->base;
    int64_t t = 0;
    for (; t + WALKED <= trees->n; t += WALKED)
        score = add_leaves(score, trees->tree + t, WALKED, row);
    return (float)add_leaves(score, trees->tree + t, (int)(trees->n - t), row);
}
