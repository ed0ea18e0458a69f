/* VPA: the fragments of most value, neighbours merged into runs, and of those as few as a cache may have.
 *
 * Values are summed in ascending order of fragments from 0.0 on, so that they have the bits of the reference's. A run is
 * summed only when it may be the least: until then its rank is what it was before it grew, which is no more. */
#include <stdlib.h>
#include <string.h>

#include "virtual.h"

enum { GONE = -1 };

bool cz_work_new(cz_work *work, int32_t fragments) {
    size_t n = (size_t)fragments;
    *work = (cz_work){.fragments = fragments};
    work->mapped = malloc(n);
    work->waiting = malloc(n);
    work->grown = malloc(n);
    work->low = malloc(n * sizeof *work->low);
    work->high = malloc(n * sizeof *work->high);
    work->owner = malloc(n * sizeof *work->owner);
    work->chosen = malloc((n + 1) * sizeof *work->chosen);
    work->least.entries = malloc(n * sizeof *work->least.entries);
    work->near.entries = malloc(n * sizeof *work->near.entries);
    return work->mapped && work->waiting && work->grown && work->low && work->high && work->owner && work->chosen &&
           work->least.entries && work->near.entries;
}

void cz_work_free(cz_work *work) {
    free(work->mapped);
    free(work->waiting);
    free(work->grown);
    free(work->low);
    free(work->high);
    free(work->owner);
    free(work->chosen);
    free(work->least.entries);
    free(work->near.entries);
}

size_t cz_work_bytes(const cz_work *work) {
    return (size_t)work->fragments * (3 + 3 * sizeof *work->low + sizeof *work->chosen + 2 * sizeof(cz_ranked));
}

/* ---- a heap ---- */

static bool before(cz_ranked a, cz_ranked b) {
    return a.rank < b.rank || (a.rank == b.rank && a.tie < b.tie);
}

static void sink(cz_ranks *heap) {
    cz_ranked own = heap->entries[0];
    int32_t at = 0, child;
    while ((child = 2 * at + 1) < heap->used) {
        if (child + 1 < heap->used && before(heap->entries[child + 1], heap->entries[child]))
            child++;
        if (!before(heap->entries[child], own))
            break;
        heap->entries[at] = heap->entries[child];
        at = child;
    }
    heap->entries[at] = own;
}

static void push(cz_ranks *heap, cz_ranked own) {
    int32_t at = heap->used++;
    while (at > 0 && before(own, heap->entries[(at - 1) / 2])) {
        heap->entries[at] = heap->entries[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heap->entries[at] = own;
}

static int32_t pop(cz_ranks *heap) {
    int32_t id = heap->entries[0].id;
    heap->entries[0] = heap->entries[--heap->used];
    if (heap->used > 0)
        sink(heap);
    return id;
}

/* ---- the fragments of most value ---- */

static double middle_of(double a, double b, double c) {
    double low = a < b ? a : b, high = a < b ? b : a;
    return c < low ? low : c > high ? high : c;
}

/* The k-th greatest, k from 1 on; the values change their places. Hoare's selection. */
static double kth(double *values, int32_t used, int32_t k) {
    int32_t low = 0, high = used - 1, want = k - 1;
    while (low < high) {
        double pivot = middle_of(values[low], values[(low + high) / 2], values[high]);
        int32_t i = low, j = high;
        while (i <= j) {
            while (values[i] > pivot)
                i++;
            while (values[j] < pivot)
                j--;
            if (i > j)
                break;
            double kept = values[i];
            values[i++] = values[j];
            values[j--] = kept;
        }
        if (want <= j)
            high = j;
        else if (want >= i)
            low = i;
        else
            return pivot;
    }
    return values[low];
}

/* Of equals those nearest the head. */
static void take_best(const cz_worth_of *of, int32_t k, cz_work *work) {
    int32_t used = 0, equals = k;
    for (int32_t b = 0; b < of->fragments; b++) {
        work->chosen[used] = of->value[b];
        used += of->value[b] > 0;
    }
    double least = used > k ? kth(work->chosen, used, k) : 0.0;
    for (int32_t b = 0; b < of->fragments; b++) {
        work->mapped[b] = of->value[b] > least;
        equals -= work->mapped[b];
    }
    for (int32_t b = 0; equals > 0 && b < of->fragments; b++) {
        if (of->value[b] != least)
            continue;
        work->mapped[b] = 1;
        equals--;
    }
}

/* Merge mapped neighbours; the runs are numbered from the head. */
static int32_t find_runs(int32_t fragments, cz_work *work) {
    int32_t runs = 0;
    for (int32_t b = 0; b < fragments; b++) {
        if (!work->mapped[b])
            continue;
        if (b == 0 || !work->mapped[b - 1]) {
            work->low[runs] = b;
            work->grown[runs] = 0;
            work->owner[b] = runs++;
        }
        if (b + 1 == fragments || !work->mapped[b + 1]) {
            work->high[runs - 1] = b + 1;
            work->owner[b] = runs - 1;
        }
    }
    return runs;
}

/* ---- fewer runs ---- */

static double total(const double *values, int32_t low, int32_t high) {
    double found = 0.0;
    for (int32_t b = low; b < high; b++)
        found += values[b];
    return found;
}

/* Fragment b is next to a run, if it is a fragment. */
static void offer(const cz_worth_of *of, cz_work *work, int32_t b) {
    if (b < 0 || b >= of->fragments || work->mapped[b] || work->waiting[b])
        return;
    work->waiting[b] = 1;
    push(&work->near, (cz_ranked){-of->value[b], b, b});
}

/* Take the run of least value out of the heap; of equals the one farthest from the head. */
static int32_t least_run(const cz_worth_of *of, cz_work *work) {
    for (;;) {
        cz_ranked *first = &work->least.entries[0];
        int32_t run = first->id, low = work->low[run];
        if (low == GONE) {
            pop(&work->least);
        } else if (work->grown[run]) {
            work->grown[run] = 0;
            first->rank = total(of->value, low, work->high[run]);
            first->tie = -low;
            sink(&work->least);
        } else {
            return pop(&work->least);
        }
    }
}

static bool is_mapped(const cz_worth_of *of, const cz_work *work, int32_t b) {
    return b >= 0 && b < of->fragments && work->mapped[b];
}

/* Take the best fragment next to a run out of the heap, of equals the one nearest the head. */
static int32_t next_to_run(const cz_worth_of *of, cz_work *work) {
    for (;;) {
        int32_t b = pop(&work->near);
        work->waiting[b] = 0;
        if (!work->mapped[b] && (is_mapped(of, work, b - 1) || is_mapped(of, work, b + 1)))
            return b;
    }
}

/* Map fragment b, which is next to a run or between two; returns 1 where these became one. */
static int32_t grow(const cz_worth_of *of, cz_work *work, int32_t b) {
    bool left = is_mapped(of, work, b - 1), right = is_mapped(of, work, b + 1);
    int32_t run = left ? work->owner[b - 1] : work->owner[b + 1];
    work->mapped[b] = 1;
    if (left && right) {
        int32_t other = work->owner[b + 1];
        work->high[run] = work->high[other];
        work->low[other] = GONE;
    } else if (left) {
        work->high[run] = b + 1;
    } else {
        work->low[run] = b;
    }
    work->owner[work->low[run]] = work->owner[work->high[run] - 1] = run;
    work->grown[run] = 1;
    return left && right;
}

/* Drop runs, and let the others grow by as many fragments, until there are few enough. */
static void merge(const cz_worth_of *of, int32_t runs, cz_work *work) {
    work->least.used = work->near.used = 0;
    memset(work->waiting, 0, (size_t)of->fragments);
    for (int32_t run = 0; run < runs; run++) {
        int32_t low = work->low[run], high = work->high[run];
        push(&work->least, (cz_ranked){total(of->value, low, high), -low, run});
        offer(of, work, low - 1);
        offer(of, work, high);
    }
    while (runs > of->runs) {
        int32_t run = least_run(of, work), low = work->low[run], high = work->high[run];
        work->low[run] = GONE;
        memset(work->mapped + low, 0, (size_t)(high - low));
        runs--;
        for (int32_t i = low; i < high; i++) {
            int32_t b = next_to_run(of, work);
            runs -= grow(of, work, b);
            offer(of, work, b - 1);
            offer(of, work, b + 1);
        }
    }
}

/* Value of the mapped fragments, less what the pages cost that entered runs away from the head. */
static double worth_of(const cz_worth_of *of, int32_t runs, const cz_work *work) {
    double found = 0.0, crossed = 0.0;
    for (int32_t run = 0; run < runs; run++) {
        for (int32_t b = work->low[run]; b < work->high[run]; b++)
            found += of->value[b];
        if (work->low[run] > 0)
            crossed += of->crossings[work->low[run]];
    }
    return found - of->cost * crossed;
}

int cz_allocate(const cz_worth_of *of, int32_t k, cz_work *work, cz_run runs[CZ_MOST_RUNS], double *worth) {
    take_best(of, k, work);
    int32_t found = find_runs(of->fragments, work);
    if (found > of->runs) {
        merge(of, found, work);
        found = find_runs(of->fragments, work);
    }
    for (int32_t run = 0; run < found; run++)
        runs[run] = (cz_run){work->low[run], work->high[run]};
    *worth = worth_of(of, found, work);
    double head = of->cost > 0 ? total(of->value, 0, k) : 0;
    if (of->cost > 0 && head >= *worth) {
        *worth = head;
        runs[0] = (cz_run){0, k};
        return 1;
    }
    return (int)found;
}
