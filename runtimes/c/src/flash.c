#include "flash.h"

#include <stdlib.h>
#include <string.h>

#include "index.h"

/* Misses that RejectX remembers, newest at the head; a miss older than the window can admit nothing and goes. */
typedef struct misses {
    cz_index index;
    cz_rings rings; /* ring 0 remembered, ring 1 free */
    uint64_t *row;  /* of the request that missed */
    int64_t room, used;
    uint64_t forgotten;
} misses;

/* Blocks that hold anything, where reads use whole blocks. There are no more of them than slots. Memory of those never
 * used is not touched. */
typedef struct blocks {
    cz_index index;
    cz_rings rings; /* ring 0 newest at the head; ring 1 free ones that were used */
    int32_t fresh;  /* the first that was never used */
} blocks;

struct cz_flash {
    cz_flash_options options;
    cz_index index;
    /* Nodes are slots; ring 0 resident, newest at the head; ring 1 free, the next one at the tail. By blocks, nodes
     * from `capacity` on begin a ring for each block's resident slots, and ring 0 is empty. */
    cz_rings rings;
    blocks blocks;
    uint8_t *prefetched; /* of a slot: fetched with a miss, and no read found it so far */
    misses misses;
    cz_unit *units, *victims;
    int64_t n_units, n_victims, used, first, count;
    int32_t volume;
    uint64_t row;
    cz_counters counters;
};

static int64_t ring_nodes(const cz_flash_options *options) {
    return options->by_block ? 2 * options->capacity : options->capacity;
}

static int32_t resident_head(const cz_flash *flash) {
    return (int32_t)ring_nodes(&flash->options);
}

static int32_t free_head(const cz_flash *flash) {
    return (int32_t)ring_nodes(&flash->options) + 1;
}

/* The head of the ring that a segment is in where it is resident; CZ_NO_NODE where its block holds nothing. */
static int32_t head_of(const cz_flash *flash, int32_t volume, int64_t number) {
    if (!flash->options.by_block)
        return resident_head(flash);
    int32_t block = cz_index_find(&flash->blocks.index, volume, number / flash->options.per_block);
    return block == CZ_NO_NODE ? CZ_NO_NODE : (int32_t)flash->options.capacity + block;
}

/* A block is used that has this head, if any. */
static void use_block(cz_flash *flash, int32_t head) {
    if (!flash->options.by_block || head == CZ_NO_NODE)
        return;
    int32_t newest = (int32_t)flash->options.capacity, block = head - newest;
    cz_unlink(&flash->blocks.rings, block);
    cz_link(&flash->blocks.rings, newest, block);
}

/* A block that held nothing is the newest; its head. */
static int32_t enter_block(cz_flash *flash, int32_t volume, int64_t number) {
    blocks *blocks = &flash->blocks;
    int32_t newest = (int32_t)flash->options.capacity, block = cz_tail(&blocks->rings, newest + 1);
    if (block == newest + 1)
        block = blocks->fresh++;
    else
        cz_unlink(&blocks->rings, block);
    cz_index_add(&blocks->index, block, volume, number / flash->options.per_block);
    cz_link(&blocks->rings, newest, block);
    int32_t head = newest + block;
    flash->rings.before[head] = flash->rings.after[head] = head;
    return head;
}

/* A block is left by its last segment. */
static void leave_block(cz_flash *flash, int32_t block) {
    blocks *blocks = &flash->blocks;
    cz_index_remove(&blocks->index, block);
    cz_unlink(&blocks->rings, block);
    cz_link(&blocks->rings, (int32_t)flash->options.capacity + 1, block);
}

/* The slot whose segment is evicted next; something is resident. */
static int32_t oldest(const cz_flash *flash) {
    int32_t head = resident_head(flash), capacity = (int32_t)flash->options.capacity;
    if (flash->options.by_block)
        head = capacity + cz_tail(&flash->blocks.rings, capacity);
    return cz_tail(&flash->rings, head);
}

static int misses_new(misses *found, int64_t room) {
    found->room = room;
    found->row = malloc((size_t)room * sizeof *found->row);
    if (!found->row || cz_index_new(&found->index, room) || cz_rings_new(&found->rings, room, 2))
        return -1;
    for (int64_t node = 0; node < room; node++)
        cz_link(&found->rings, (int32_t)room + 1, (int32_t)node);
    return 0;
}

static void misses_leave(misses *known, int32_t node) {
    cz_index_remove(&known->index, node);
    cz_unlink(&known->rings, node);
    cz_link(&known->rings, (int32_t)known->room + 1, node);
    known->used--;
}

/* Remember that a unit misses in this row; true where it also missed within the window. */
static bool misses_again(misses *known, int64_t window, uint64_t row, int32_t volume, int64_t number) {
    int32_t head = (int32_t)known->room, node;
    while ((node = cz_tail(&known->rings, head)) != head && row - known->row[node] > (uint64_t)window)
        misses_leave(known, node);
    node = cz_index_find(&known->index, volume, number);
    bool again = node != CZ_NO_NODE;
    if (!again) {
        if (known->used == known->room) {
            misses_leave(known, cz_tail(&known->rings, head));
            known->forgotten++;
        }
        node = cz_tail(&known->rings, head + 1);
        cz_index_add(&known->index, node, volume, number);
        known->used++;
    }
    cz_unlink(&known->rings, node);
    cz_link(&known->rings, head, node);
    known->row[node] = row;
    return again;
}

/* Misses of more requests than the window's count for nothing, so there is never room for more of them. */
static int64_t misses_room(const cz_flash_options *options) {
    if (options->window >= options->max_misses / options->max_units)
        return options->max_misses;
    return (options->window + 1) * options->max_units;
}

static int check(const cz_flash_options *options, cz_error *error) {
    const int64_t most = (int64_t)1 << (options->by_block ? 29 : 30); /* int32 numbers the nodes of rings */
    const struct {
        const char *name;
        int64_t value, least;
    } limits[] = {{"capacity", options->capacity, 1},
                  {"segments of a block", options->per_block, 1},
                  {"segments of a request", options->max_units, 1},
                  {"remembered misses", options->max_misses, 1},
                  {"window", options->window, CZ_BY_VERDICT}};
    for (size_t k = 0; k < sizeof limits / sizeof limits[0]; k++) {
        if (limits[k].value < limits[k].least || limits[k].value > most)
            return cz_fail(error, CZ_BAD_CALL, "flash cache: %s is %lld; it must be %lld to %lld", limits[k].name,
                           (long long)limits[k].value, (long long)limits[k].least, (long long)most);
    }
    return CZ_OK;
}

static int allocate(cz_flash *flash) {
    const cz_flash_options *options = &flash->options;
    size_t most_units = (size_t)(options->max_units + options->per_block);
    flash->units = malloc(most_units * sizeof *flash->units);
    flash->victims = malloc(most_units * sizeof *flash->victims);
    flash->prefetched = calloc((size_t)options->capacity, 1);
    if (!flash->units || !flash->victims || !flash->prefetched)
        return -1;
    int64_t nodes = ring_nodes(options);
    if (cz_index_new(&flash->index, options->capacity) || cz_rings_new(&flash->rings, nodes, 2))
        return -1;
    flash->counters.bytes = sizeof *flash + 2 * most_units * sizeof *flash->units +
                            cz_index_bytes(&flash->index, options->capacity) + (size_t)nodes * 2 * sizeof(int32_t) +
                            (size_t)options->capacity;
    if (options->by_block) {
        blocks *blocks = &flash->blocks;
        if (cz_index_new(&blocks->index, options->capacity) || cz_rings_new(&blocks->rings, options->capacity, 2))
            return -1;
        flash->counters.bytes +=
            cz_index_bytes(&blocks->index, options->capacity) + (size_t)options->capacity * 2 * sizeof(int32_t);
    }
    if (options->window < 0)
        return 0;
    int64_t room = misses_room(options);
    flash->counters.bytes += (size_t)room * (2 * sizeof(int32_t) + sizeof(uint64_t));
    if (misses_new(&flash->misses, room))
        return -1;
    flash->counters.bytes += cz_index_bytes(&flash->misses.index, room);
    return 0;
}

int cz_flash_new(const cz_flash_options *options, cz_flash **flash, cz_error *error) {
    *flash = NULL;
    int code = check(options, error);
    if (code != CZ_OK)
        return code;
    cz_flash *made = calloc(1, sizeof *made);
    if (!made)
        return cz_fail(error, CZ_NO_MEMORY, "flash cache: no memory");
    made->options = *options;
    made->options.by_block = options->by_block && options->per_block > 1;
    if (allocate(made)) {
        cz_flash_free(made);
        return cz_fail(error, CZ_NO_MEMORY, "flash cache of %lld segments: no memory", (long long)options->capacity);
    }
    for (int64_t slot = 0; slot < options->capacity; slot++)
        cz_link(&made->rings, free_head(made), (int32_t)slot);
    *flash = made;
    return CZ_OK;
}

void cz_flash_free(cz_flash *flash) {
    if (!flash)
        return;
    cz_index_free(&flash->index);
    cz_rings_free(&flash->rings);
    cz_index_free(&flash->blocks.index);
    cz_rings_free(&flash->blocks.rings);
    cz_index_free(&flash->misses.index);
    cz_rings_free(&flash->misses.rings);
    free(flash->misses.row);
    free(flash->prefetched);
    free(flash->units);
    free(flash->victims);
    free(flash);
}

/* A resident slot becomes free and its unit a victim. */
static void leave(cz_flash *flash, int32_t slot) {
    cz_key key = flash->index.keys[slot];
    flash->victims[flash->n_victims++] =
        (cz_unit){.number = key.number, .volume = key.volume, .slot = slot, .prefetched = flash->prefetched[slot]};
    cz_index_remove(&flash->index, slot);
    int32_t before = flash->rings.before[slot];
    bool alone = before == flash->rings.after[slot]; /* so that this is the ring's head */
    cz_unlink(&flash->rings, slot);
    cz_link(&flash->rings, free_head(flash), slot);
    if (flash->options.by_block && alone)
        leave_block(flash, before - (int32_t)flash->options.capacity);
    flash->used--;
}

/* A free slot holds a segment, as the newest of its ring. */
static void hold(cz_flash *flash, int32_t volume, int64_t number, int32_t slot) {
    int32_t head = head_of(flash, volume, number);
    if (head == CZ_NO_NODE)
        head = enter_block(flash, volume, number);
    cz_unlink(&flash->rings, slot);
    cz_link(&flash->rings, head, slot);
    cz_index_add(&flash->index, slot, volume, number);
    flash->used++;
}

static void enter(cz_flash *flash, cz_unit *unit) {
    if (flash->used == flash->options.capacity) {
        leave(flash, oldest(flash));
        flash->counters.evicted++;
    }
    unit->slot = cz_tail(&flash->rings, free_head(flash));
    hold(flash, unit->volume, unit->number, unit->slot);
    flash->prefetched[unit->slot] = unit->prefetched;
}

static void close_access(const cz_flash *flash, cz_access *access) {
    access->units = flash->units;
    access->n_units = flash->n_units;
    access->victims = flash->victims;
    access->n_victims = flash->n_victims;
}

static int open_access(cz_flash *flash, int32_t volume, int64_t first, int64_t count, cz_access *access) {
    if (count < 1 || count > flash->options.max_units || first < 0 || first > INT64_MAX - count || volume < 0)
        return CZ_BAD_CALL;
    memset(access, 0, sizeof *access);
    flash->n_units = flash->n_victims = 0;
    flash->volume = volume;
    flash->first = first;
    flash->count = count;
    return CZ_OK;
}

static void invalidate(cz_flash *flash) {
    for (int64_t k = 0; k < flash->count; k++) {
        int32_t slot = cz_index_find(&flash->index, flash->volume, flash->first + k);
        if (slot != CZ_NO_NODE)
            leave(flash, slot);
        flash->units[flash->n_units++] = (cz_unit){.number = flash->first + k, .volume = flash->volume, .slot = -1};
    }
}

/* A unit of a read, in the ring with this head: used where it is resident; RejectX notes what it decides in
 * `outcome`. */
static cz_unit look_at(cz_flash *flash, int64_t number, int32_t head) {
    cz_unit unit = {.number = number, .volume = flash->volume, .slot = -1};
    int32_t slot = head == CZ_NO_NODE ? CZ_NO_NODE : cz_index_find(&flash->index, flash->volume, number);
    if (slot != CZ_NO_NODE) {
        cz_unlink(&flash->rings, slot);
        cz_link(&flash->rings, head, slot);
        unit.slot = slot;
        unit.outcome = 2;
        unit.prefetched = flash->prefetched[slot];
        flash->prefetched[slot] = 0;
    } else if (flash->options.window >= 0) {
        unit.outcome = misses_again(&flash->misses, flash->options.window, flash->row, flash->volume, number);
    }
    return unit;
}

int cz_flash_look(cz_flash *flash, enum cz_op op, int32_t volume, int64_t first, int64_t count, cz_access *access) {
    int code = open_access(flash, volume, first, count, access);
    if (code != CZ_OK)
        return code;
    if (op == CZ_WRITE) {
        invalidate(flash);
    } else {
        int32_t head = CZ_NO_NODE;
        for (int64_t k = 0; k < count; k++) {
            if (k == 0 || (first + k) % flash->options.per_block == 0) {
                head = head_of(flash, volume, first + k);
                use_block(flash, head);
            }
            cz_unit unit = look_at(flash, first + k, head);
            access->hits += unit.outcome == 2;
            flash->units[flash->n_units++] = unit;
        }
        access->misses = (int32_t)count - access->hits;
        flash->counters.hits += (uint64_t)access->hits;
        flash->counters.units += (uint64_t)count;
    }
    flash->row++;
    flash->counters.requests++;
    close_access(flash, access);
    return CZ_OK;
}

/* List what is fetched with the read's misses; [low, high] is the I/O in segments from the request's first. */
static void list_prefetched(cz_flash *flash, const cz_verdict *verdict, int64_t *low, int64_t *high) {
    int64_t in_block = flash->first % flash->options.per_block;
    int64_t least = verdict->low > 0 ? verdict->low : 0;
    int64_t most = verdict->high < flash->options.per_block ? verdict->high : flash->options.per_block;
    for (int64_t index = least; index < most; index++) {
        int64_t at = index - in_block;
        if ((at >= 0 && at < flash->count) ||
            cz_index_find(&flash->index, flash->volume, flash->first + at) != CZ_NO_NODE)
            continue;
        flash->units[flash->n_units++] =
            (cz_unit){.number = flash->first + at, .volume = flash->volume, .slot = -1, .outcome = 1, .prefetched = 1};
        *low = at < *low ? at : *low;
        *high = at > *high ? at : *high;
    }
}

/* What entered and left in one access has no slot. */
static void settle_slots(cz_flash *flash) {
    for (int64_t k = 0; k < flash->n_units; k++) {
        cz_unit *unit = &flash->units[k];
        if (unit->outcome == 1 && cz_index_find(&flash->index, unit->volume, unit->number) != unit->slot)
            unit->slot = -1;
    }
}

void cz_flash_fill(cz_flash *flash, const cz_verdict *verdict, cz_access *access) {
    int64_t low = -1, high = -1, accepted = 0;
    for (int64_t k = 0; k < flash->count; k++) {
        cz_unit *unit = &flash->units[k];
        if (unit->outcome == 2)
            continue;
        low = low < 0 ? k : low;
        high = k;
        if (flash->options.window < 0)
            unit->outcome = verdict->admit;
        accepted += unit->outcome;
    }
    if (accepted > 0 && (access->hits > 0 || !verdict->on_partial))
        list_prefetched(flash, verdict, &low, &high);
    int64_t before = flash->n_victims;
    /* The prefetched first, so that the read's own are the newest. */
    for (int64_t k = flash->count; k < flash->n_units; k++)
        enter(flash, &flash->units[k]);
    for (int64_t k = 0; k < flash->count; k++) {
        if (flash->units[k].outcome == 1)
            enter(flash, &flash->units[k]);
    }
    access->io_units = (int32_t)(high - low + 1);
    access->prefetched = (int32_t)(flash->n_units - flash->count);
    access->written = (int32_t)accepted + access->prefetched;
    access->evicted = (int32_t)(flash->n_victims - before);
    if (access->evicted > 0)
        settle_slots(flash);
    flash->counters.admitted += (uint64_t)accepted;
    flash->counters.prefetched += (uint64_t)access->prefetched;
    flash->counters.bypassed += (uint64_t)(access->misses - accepted);
    close_access(flash, access);
}

int cz_flash_access(cz_flash *flash, enum cz_op op, int32_t volume, int64_t first, int64_t count,
                    const cz_verdict *verdict, cz_access *access) {
    int code = cz_flash_look(flash, op, volume, first, count, access);
    if (code == CZ_OK && access->misses > 0)
        cz_flash_fill(flash, verdict, access);
    return code;
}

int cz_flash_drop(cz_flash *flash, int32_t volume, int64_t first, int64_t count, cz_access *access) {
    int code = open_access(flash, volume, first, count, access);
    if (code != CZ_OK)
        return code;
    invalidate(flash);
    close_access(flash, access);
    return CZ_OK;
}

int cz_flash_put(cz_flash *flash, int32_t volume, int64_t number, int32_t slot) {
    bool fits = slot >= 0 && slot < flash->options.capacity && number >= 0 && volume >= 0;
    if (!fits || flash->row > 0 || cz_index_find(&flash->index, volume, number) != CZ_NO_NODE)
        return CZ_BAD_CALL;
    cz_key key = flash->index.keys[slot];
    if (cz_index_find(&flash->index, key.volume, key.number) == slot)
        return CZ_BAD_CALL;
    use_block(flash, head_of(flash, volume, number));
    hold(flash, volume, number, slot);
    return CZ_OK;
}

void cz_flash_stats(const cz_flash *flash, cz_counters *counters) {
    *counters = flash->counters;
    counters->keys = (uint64_t)flash->used;
    counters->forgotten = flash->misses.forgotten;
}
