/* A cache of fixed size under a classic, whose pages belong to tenants. */
#include <stdlib.h>

#include "reuse_check.h"
#include "tenants.h"

#define MOST_ACCESSES (INT64_C(1) << 56)

static bool held(const void *owner, int32_t slot) {
    return cz_classic_holds(&((const cz_part *)owner)->classic, slot);
}

static void forget(void *owner, int32_t slot) {
    cz_classic_forget(&((cz_part *)owner)->classic, slot);
}

cz_part *cz_part_new(enum cz_classic_name policy, int64_t pages, int64_t remembered) {
    cz_part *part = calloc(1, sizeof *part);
    if (!part)
        return NULL;
    cz_table_new(&part->table, &part->memory, remembered);
    part->table.owner = part;
    part->table.held = held;
    part->table.forget = forget;
    cz_classic_new(&part->classic, policy, &part->memory, &part->table, pages);
    part->ids = cz_memory_room(&part->memory, (size_t)part->table.most, sizeof *part->ids, &part->table.n.used);
    cz_memory_keep(&part->memory, &part->n, sizeof part->n);
    if (part->memory.failed) {
        cz_part_free(part);
        return NULL;
    }
    return part;
}

void cz_part_free(cz_part *part) {
    if (!part)
        return;
    cz_memory_free(&part->memory);
    free(part);
}

int cz_part_serve(cz_part *part, int32_t tenant, uint64_t key, cz_tenant_page *victim) {
    bool found;
    int32_t gone, slot = cz_table_find(&part->table, tenant, (int64_t)key, (uint64_t)part->n.accesses + 1, &found);
    if (!found)
        part->ids[slot] = (uint32_t)part->n.ids++;
    int outcome = cz_classic_serve(&part->classic, slot, part->ids[slot], part->n.accesses++, false, &gone);
    *victim = (cz_tenant_page){.tenant = -1};
    if (gone != CZ_NONE)
        *victim =
            (cz_tenant_page){.tenant = part->table.keys[gone].volume, .key = (uint64_t)part->table.keys[gone].number};
    return outcome;
}

static bool keys_sound(const cz_part *part, int32_t tenants) {
    for (int64_t slot = CZ_FIRST_SLOT; slot < part->table.n.used; slot++) {
        const cz_key *key = &part->table.keys[slot];
        if (key->volume < 0 || key->volume >= tenants || key->request > (uint64_t)part->n.accesses)
            return false;
    }
    return true;
}

bool cz_part_sound(const cz_part *part, int32_t tenants, int64_t *resident) {
    cz_check check = {.slots = part->table.n.used, .accesses = part->n.accesses};
    if (part->n.accesses < 0 || part->n.accesses > MOST_ACCESSES || part->n.ids < 0 || part->n.ids > part->n.accesses ||
        !keys_sound(part, tenants))
        return false;
    check.found = malloc((size_t)check.slots);
    check.taken = malloc((size_t)check.slots);
    bool sound = check.found && check.taken && cz_classic_sound(&part->classic, &check);
    for (int64_t slot = CZ_FIRST_SLOT; sound && slot < check.slots; slot++)
        resident[part->table.keys[slot].volume] += check.found[slot] != 0;
    free(check.found);
    free(check.taken);
    return sound;
}
