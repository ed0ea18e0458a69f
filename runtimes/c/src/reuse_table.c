/* A table of pages, regions or stretches by volume and number; forgets the oldest that nothing holds (a clock). */
#include "reuse_parts.h"

static uint64_t bucket_of(const cz_table *table, int32_t volume, int64_t number) {
    uint64_t value = ((uint64_t)number + ((uint64_t)(uint32_t)volume << 44)) * UINT64_C(0x9E3779B97F4A7C15);
    return (value ^ (value >> 29)) & table->mask;
}

void cz_table_new(cz_table *table, cz_memory *memory, int64_t most) {
    uint64_t buckets = 16;
    while (buckets < (uint64_t)most)
        buckets *= 2;
    table->most = most + CZ_FIRST_SLOT;
    table->mask = buckets - 1;
    table->n.used = table->n.hand = CZ_FIRST_SLOT;
    cz_memory_keep(memory, &table->n, sizeof table->n);
    table->keys = cz_memory_room(memory, (size_t)table->most, sizeof *table->keys, &table->n.used);
    table->buckets = cz_memory_scratch(memory, buckets, sizeof *table->buckets);
}

int64_t *cz_table_last(cz_table *table, cz_memory *memory) {
    if (table->last == NULL)
        table->last = cz_memory_room(memory, (size_t)table->most, sizeof *table->last, &table->n.used);
    return table->last;
}

static void link_key(cz_table *table, int32_t slot) {
    int32_t *bucket = &table->buckets[bucket_of(table, table->keys[slot].volume, table->keys[slot].number)];
    table->keys[slot].next = *bucket;
    *bucket = slot;
}

static void unlink_key(cz_table *table, int32_t slot) {
    int32_t *at = &table->buckets[bucket_of(table, table->keys[slot].volume, table->keys[slot].number)];
    while (*at != slot)
        at = &table->keys[*at].next;
    *at = table->keys[slot].next;
}

/* The slot of a key that may go: neither held, nor of the present request, nor used since the hand was here. */
static int32_t oldest(cz_table *table, uint64_t request) {
    for (;;) {
        int32_t slot = (int32_t)table->n.hand;
        cz_key *key = &table->keys[slot];
        table->n.hand = slot + 1 < table->most ? slot + 1 : CZ_FIRST_SLOT;
        if (key->request == request || (table->held != NULL && table->held(table->owner, slot)))
            continue;
        if (!key->recent)
            return slot;
        key->recent = 0;
    }
}

static int32_t room(cz_table *table, uint64_t request) {
    if (table->n.used < table->most)
        return (int32_t)table->n.used++;
    int32_t slot = oldest(table, request);
    unlink_key(table, slot);
    if (table->forget != NULL)
        table->forget(table->owner, slot);
    table->n.forgotten++;
    return slot;
}

int32_t cz_table_find(cz_table *table, int32_t volume, int64_t number, uint64_t request, bool *found) {
    for (int32_t slot = table->buckets[bucket_of(table, volume, number)]; slot != 0; slot = table->keys[slot].next) {
        cz_key *key = &table->keys[slot];
        if (key->number == number && key->volume == volume) {
            key->recent = 1;
            key->request = request;
            *found = true;
            return slot;
        }
    }
    int32_t slot = room(table, request);
    table->keys[slot] = (cz_key){.number = number, .request = request, .volume = volume, .recent = 1};
    link_key(table, slot);
    *found = false;
    return slot;
}

int32_t cz_table_look(const cz_table *table, int32_t volume, int64_t number) {
    int32_t slot = table->buckets[bucket_of(table, volume, number)];
    while (slot != 0 && (table->keys[slot].number != number || table->keys[slot].volume != volume))
        slot = table->keys[slot].next;
    return slot;
}

void cz_table_turn(cz_table *table, int32_t slot) {
    unlink_key(table, slot);
    table->keys[slot].volume = ~table->keys[slot].volume;
    link_key(table, slot);
}

bool cz_table_index(cz_table *table) {
    if (table->n.used < CZ_FIRST_SLOT || table->n.hand < CZ_FIRST_SLOT || table->n.hand >= table->most)
        return false;
    for (uint64_t k = 0; k <= table->mask; k++)
        table->buckets[k] = 0;
    for (int32_t slot = CZ_FIRST_SLOT; slot < table->n.used; slot++)
        link_key(table, slot);
    return true;
}
