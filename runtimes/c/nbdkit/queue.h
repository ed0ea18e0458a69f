/* Fills: what a read has from the disk and the policy has let in, on its way to the SSD.
 *
 * A read hands over its fills and is answered; they wait in memory for the thread that writes them. Where there is no room
 * for more the read writes them itself. A slot whose fill waits names it, and its data is read from there.
 * - A fill counts only while its slot has the turn of when it was decided. So a unit that leaves needs no more than that:
 *   its fill is not written if it has not begun, and does not enter the table if it has.
 * - A slot is busy while a fill is being written to it. Two are never written to one slot at once, and where one is to
 *   follow another it waits.
 * The thread starts with the first fill and ends as the queue is closed; the last client that leaves does that. */
#ifndef CZ_QUEUE_H
#define CZ_QUEUE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* That wait at most; less for a small cache, see queue_new. More would leave the CPU's cache before it is written. */
#define QUEUE_BYTES ((size_t)1 << 20)
#define QUEUE_SIZES 16 /* of memory: powers of two from 4 KiB on */

struct served;

typedef struct filling {
    int64_t number; /* of the unit */
    int32_t slot;
    uint32_t turn, crc;
    bool dropped, written;
} filling;

/* The fills of one read, and the data of all units of its I/O. */
typedef struct fills {
    struct fills *next;
    int holders; /* who reads it: the queue, and reads of its units */
    int size;    /* of `units`: 4 KiB times two to this power */
    bool queued; /* its bytes count as waiting */
    int64_t low; /* the first unit of the data */
    int64_t n, room;
    unsigned char *memory, *units; /* its own; where the data is: there, or where the client's is meanwhile */
    filling list[];
} fills;

typedef struct queue {
    pthread_cond_t work, idle; /* there is something to write; a slot is not busy any more */
    pthread_t thread;
    bool runs, asleep, closed;
    fills *first, **last;
    size_t bytes, most;
    fills *spare[QUEUE_SIZES]; /* memory for the next reads, at most as much as may wait */
    size_t spare_bytes;
} queue;

/* The caller holds the lock where nothing else is said. */
void queue_new(struct served *served);  /* without the lock */
void queue_free(struct served *served); /* without the lock; after queue_close */
/* All that waits is written, and from here on every read writes its own fills. Without the lock. */
void queue_close(struct served *served);
void queue_open(struct served *served); /* they wait again; without the lock */

/* Memory for the data of so many units and as many fills, and its first holder; NULL where none is spare. */
fills *fills_spare(struct served *served, int64_t low, int64_t count);
fills *fills_new(const struct served *served, int64_t low, int64_t count); /* without the lock; NULL without memory */
void fills_add(fills *fills, int64_t number, int32_t slot, uint32_t turn);
const unsigned char *fills_unit(const struct served *served, const fills *fills, int64_t number);
/* The data is whole. Written in the background or at once; the caller's hold ends. Gives up the lock meanwhile. */
void fills_write(struct served *served, fills *fills);
/* As fills_write, where the data is so many bytes in the client's memory: it is copied only if it is to wait. */
void fills_write_from(struct served *served, fills *fills, unsigned char *client, size_t bytes);
void fills_release(struct served *served, fills *fills);

#endif
