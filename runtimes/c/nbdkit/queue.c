#include "queue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>

#include "crc32c.h"
#include "fills.h"

#define LEAST_BYTES ((size_t)4096)
#define BATCH_BYTES ((size_t)256 << 10) /* that one pass of the thread takes */
#define LINGER_NS 300000 /* the thread looks again after this before it goes to sleep: waking it costs more */
#define RUN_PARTS 64     /* pieces of memory in one write */

void queue_new(served *served) {
    queue *queue = &served->queue;
    size_t quarter = (size_t)(served->n_slots * served->unit_bytes) / 4;
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&queue->work, &monotonic);
    pthread_cond_init(&queue->idle, NULL);
    pthread_condattr_destroy(&monotonic);
    queue->last = &queue->first;
    queue->most = quarter < QUEUE_BYTES ? quarter : QUEUE_BYTES; /* what is evicted has mostly been written */
}

static void free_fills(fills *fills) {
    free(fills->memory);
    free(fills);
}

void queue_free(served *served) {
    queue *queue = &served->queue;
    for (int size = 0; size < QUEUE_SIZES; size++) {
        for (fills *spare; (spare = queue->spare[size]) != NULL;) {
            queue->spare[size] = spare->next;
            free_fills(spare);
        }
    }
    pthread_cond_destroy(&queue->work);
    pthread_cond_destroy(&queue->idle);
}

static size_t bytes_of(const fills *fills) {
    return LEAST_BYTES << fills->size;
}

static int size_for(const served *served, int64_t count) {
    int size = 0;
    while (LEAST_BYTES << size < (size_t)(count * served->unit_bytes))
        size++;
    return size;
}

static void begin_fills(fills *fills, int64_t low) {
    fills->next = NULL;
    fills->holders = 1;
    fills->queued = false;
    fills->units = fills->memory;
    fills->low = low;
    fills->n = 0;
}

fills *fills_spare(served *served, int64_t low, int64_t count) {
    queue *queue = &served->queue;
    int size = size_for(served, count);
    fills *found = size < QUEUE_SIZES ? queue->spare[size] : NULL;
    if (found) {
        queue->spare[size] = found->next;
        queue->spare_bytes -= bytes_of(found);
        begin_fills(found, low);
    }
    return found;
}

fills *fills_new(const served *served, int64_t low, int64_t count) {
    int size = size_for(served, count);
    size_t bytes = LEAST_BYTES << size;
    int64_t room = (int64_t)bytes / served->unit_bytes;
    fills *made = malloc(sizeof *made + (size_t)room * sizeof made->list[0]);
    void *units = NULL;
    if (!made || posix_memalign(&units, LEAST_BYTES, bytes)) {
        free(made);
        return NULL;
    }
    made->size = size;
    made->room = room;
    made->memory = units;
    begin_fills(made, low);
    return made;
}

void fills_release(served *served, fills *fills) {
    queue *queue = &served->queue;
    if (--fills->holders > 0)
        return;
    if (fills->size >= QUEUE_SIZES || queue->spare_bytes + bytes_of(fills) > queue->most) {
        free_fills(fills);
        return;
    }
    queue->spare_bytes += bytes_of(fills);
    fills->next = queue->spare[fills->size];
    queue->spare[fills->size] = fills;
}

void fills_add(fills *fills, int64_t number, int32_t slot, uint32_t turn) {
    fills->list[fills->n++] = (filling){.number = number, .slot = slot, .turn = turn};
}

const unsigned char *fills_unit(const served *served, const fills *fills, int64_t number) {
    return fills->units + (number - fills->low) * served->unit_bytes;
}

/* What is still to be written becomes busy, all at once, so that nobody who waits for a slot holds another. */
static void claim(served *served, fills *chain) {
    for (fills *fills = chain; fills;) {
        int64_t k = 0;
        while (k < fills->n) {
            filling *one = &fills->list[k];
            const slot_state *state = &served->slots[one->slot];
            if (!one->dropped && (state->turn != one->turn || served->failed)) {
                one->dropped = true;
                *(served->failed ? &served->stats.abandoned : &served->stats.skipped) += 1;
            }
            if (!one->dropped && state->busy)
                break;
            k++;
        }
        if (k < fills->n) {
            pthread_cond_wait(&served->queue.idle, &served->lock);
            fills = chain;
        } else {
            fills = fills->next;
        }
    }
    for (fills *fills = chain; fills; fills = fills->next) {
        for (int64_t k = 0; k < fills->n; k++) {
            if (!fills->list[k].dropped)
                served->slots[fills->list[k].slot].busy = true;
        }
    }
}

/* Adjacent slots, and their data in pieces. */
typedef struct run {
    served *served;
    int32_t first;
    int64_t n;
    int parts;
    struct iovec part[RUN_PARTS];
    filling *list[RUN_PARTS]; /* the first fill of each part; those of one part lie in a row */
} run;

/* Where the whole cannot be written, unit by unit: only what cannot be is counted as failed. */
static void end_run(run *run) {
    int64_t unit = run->served->unit_bytes;
    bool whole = run->n > 0 && tier_write_run(run->served->tier, run->first, run->part, run->parts) == 0;
    for (int p = 0; p < run->parts; p++) {
        filling *one = run->list[p];
        for (int64_t k = 0; k < (int64_t)run->part[p].iov_len / unit; k++, one++) {
            unsigned char *data = (unsigned char *)run->part[p].iov_base + k * unit;
            one->written = whole || (run->n > 1 && tier_write(run->served->tier, one->slot, data) == 0);
        }
    }
    run->n = run->parts = 0;
}

/* `follows`: it lies behind the last one, in memory and in the list. */
static void extend_run(run *run, filling *one, unsigned char *data, bool follows) {
    bool adjacent = run->n > 0 && one->slot == run->first + run->n;
    if (!adjacent || (!follows && run->parts == RUN_PARTS))
        end_run(run);
    if (run->n == 0)
        run->first = one->slot;
    if (run->n > 0 && follows) {
        run->part[run->parts - 1].iov_len += (size_t)run->served->unit_bytes;
    } else {
        run->part[run->parts] = (struct iovec){data, (size_t)run->served->unit_bytes};
        run->list[run->parts++] = one;
    }
    run->n++;
}

static void write_claimed(served *served, fills *chain) {
    run run = {.served = served};
    for (fills *fills = chain; fills; fills = fills->next) {
        bool follows = false;
        int64_t before = 0;
        for (int64_t k = 0; k < fills->n; k++) {
            filling *one = &fills->list[k];
            follows = follows && one->number == before + 1;
            if (!one->dropped) {
                unsigned char *data = fills->units + (one->number - fills->low) * served->unit_bytes;
                one->crc = crc32c(0, data, (size_t)served->unit_bytes);
                extend_run(&run, one, data, follows);
            }
            follows = !one->dropped;
            before = one->number;
        }
    }
    end_run(&run);
}

static void end_one(served *served, fills *fills, const filling *one) {
    slot_state *state = &served->slots[one->slot];
    if (state->waiting == fills)
        state->waiting = NULL;
    if (one->dropped)
        return;
    state->busy = false;
    if (state->turn != one->turn || served->failed) {
        served->stats.abandoned++;
        return;
    }
    served_count_error(served, !one->written, "a write");
    if (!one->written || served->failed || maybe_holds(&served->lost, one->number)) {
        served->stats.abandoned++;
        served_drop(served, (uint64_t)served->unit_bytes, (uint64_t)(one->number * served->unit_bytes));
        return;
    }
    served_ready(served, one->slot, one->number, one->crc);
    served->stats.fills++;
    served->stats.fill_bytes += (uint64_t)served->unit_bytes;
}

/* Write a chain of fills; the lock is given up while that goes on. */
static void write_chain(served *served, fills *chain) {
    claim(served, chain);
    pthread_mutex_unlock(&served->lock);
    write_claimed(served, chain);
    pthread_mutex_lock(&served->lock);
    for (fills *next; chain; chain = next) {
        next = chain->next;
        for (int64_t k = 0; k < chain->n; k++)
            end_one(served, chain, &chain->list[k]);
        if (chain->queued)
            served->queue.bytes -= bytes_of(chain);
        fills_release(served, chain);
    }
    pthread_cond_broadcast(&served->queue.idle);
}

static fills *take_batch(queue *queue) {
    fills *chain = queue->first, *last = chain;
    size_t bytes = bytes_of(last);
    for (; last->next && bytes < BATCH_BYTES; last = last->next)
        bytes += bytes_of(last->next);
    queue->first = last->next;
    if (!queue->first)
        queue->last = &queue->first;
    last->next = NULL;
    return chain;
}

/* Until there is something to write. Whoever adds wakes the thread only if it is asleep, or much waits. */
static void wait_for_work(served *served) {
    queue *queue = &served->queue;
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += LINGER_NS;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    if (!queue->closed)
        (void)pthread_cond_timedwait(&queue->work, &served->lock, &until);
    queue->asleep = true;
    while (!queue->first && !queue->closed)
        pthread_cond_wait(&queue->work, &served->lock);
    queue->asleep = false;
}

static void *write_in_background(void *given) {
    served *served = given;
    queue *queue = &served->queue;
    pthread_mutex_lock(&served->lock);
    while (queue->first || !queue->closed) {
        if (queue->first)
            write_chain(served, take_batch(queue));
        else
            wait_for_work(served);
    }
    pthread_mutex_unlock(&served->lock);
    return NULL;
}

/* Whether the fills can wait. */
static bool has_room(served *served, const fills *fills) {
    queue *queue = &served->queue;
    if (queue->closed || queue->bytes + bytes_of(fills) > queue->most)
        return false;
    if (!queue->runs)
        queue->runs = pthread_create(&queue->thread, NULL, write_in_background, served) == 0;
    return queue->runs;
}

/* Whoever reads a unit meanwhile finds it in the fills' own memory. */
static void show_waiting(served *served, fills *fills) {
    for (int64_t k = 0; k < fills->n; k++) {
        const filling *one = &fills->list[k];
        slot_state *state = &served->slots[one->slot];
        if (state->turn != one->turn)
            continue;
        state->number = one->number;
        state->waiting = fills;
    }
}

void fills_write_from(served *served, fills *fills, unsigned char *client, size_t bytes) {
    queue *queue = &served->queue;
    if (!has_room(served, fills)) {
        if (client)
            fills->units = client;
        else
            show_waiting(served, fills);
        write_chain(served, fills);
        return;
    }
    fills->queued = true;
    queue->bytes += bytes_of(fills);
    if (client) {
        pthread_mutex_unlock(&served->lock);
        memcpy(fills->units, client, bytes);
        pthread_mutex_lock(&served->lock);
    }
    show_waiting(served, fills);
    if (queue->closed) { /* meanwhile */
        write_chain(served, fills);
        return;
    }
    *queue->last = fills;
    queue->last = &fills->next;
    if (queue->asleep || queue->bytes > queue->most / 2)
        pthread_cond_signal(&queue->work);
}

void fills_write(served *served, fills *fills) {
    fills_write_from(served, fills, NULL, 0);
}

void queue_close(served *served) {
    queue *queue = &served->queue;
    pthread_mutex_lock(&served->lock);
    queue->closed = true;
    bool runs = queue->runs;
    queue->runs = false;
    pthread_cond_signal(&queue->work);
    pthread_mutex_unlock(&served->lock);
    if (runs)
        pthread_join(queue->thread, NULL);
}

void queue_open(served *served) {
    pthread_mutex_lock(&served->lock);
    served->queue.closed = false;
    pthread_mutex_unlock(&served->lock);
}
