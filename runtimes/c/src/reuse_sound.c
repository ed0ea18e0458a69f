/* Whether a restored reuse cache is one that requests can have made. Saved states are raw memory, whose checksum
 * anyone can put right: every number that is used as an index, a link or a count is checked here, and that the parts
 * agree about who holds what, before the first request. */
#include <stdlib.h>
#include <string.h>

#include "reuse_cache.h"
#include "reuse_check.h"

#define MOST_NUMBER (INT64_C(1) << 56) /* of an access or a request */

static bool table_sound(const cz_table *table, uint64_t requests) {
    for (int64_t slot = CZ_FIRST_SLOT; slot < table->n.used; slot++) {
        const cz_key *key = &table->keys[slot];
        if (key->volume < 0 || key->number < 0 || key->request > requests)
            return false;
    }
    return true;
}

static bool tracts_sound(const cz_table *table, const cz_tract *tracts, int64_t accesses) {
    for (int64_t slot = CZ_FIRST_SLOT; slot < table->n.used; slot++)
        if (tracts[slot].last < -1 || tracts[slot].last >= accesses)
            return false;
    return true;
}

static bool pages_sound(const cz_reuse *cache, int64_t rows) {
    for (int64_t slot = CZ_FIRST_SLOT; slot < cache->table.n.used; slot++) {
        const cz_page *page = &cache->pages[slot];
        if (page->last < -1 || page->last >= cache->n.accesses || page->row < CZ_NONE || page->row >= rows ||
            page->class >= cache->worth.hazards.n_classes || page->wrote < -1 || page->wrote > 1 || page->dirty > 1)
            return false;
    }
    return true;
}

static bool past_sound(const cz_reuse *cache) {
    const cz_past *past = &cache->past;
    int64_t accesses = cache->n.accesses;
    for (int which = 0; which < 2; which++) {
        int64_t horizon = (which == 0 ? 1 : CZ_HORIZON) * (int64_t)past->capacity, settled = past->settled[which];
        if (settled < 0 || settled > accesses || accesses - settled > horizon + CZ_REUSE_MOST_PAGES)
            return false;
    }
    for (int64_t k = 0; k < past->ring; k++)
        if ((int32_t)(past->recent[k] & 0xFFFF) >= past->processes)
            return false;
    return past->run >= 0 && past->run <= (double)MOST_NUMBER && table_sound(&past->regions, cache->n.requests) &&
           table_sound(&past->stretches, cache->n.requests) && tracts_sound(&past->regions, past->region, accesses) &&
           tracts_sound(&past->stretches, past->stretch, accesses);
}

static bool hazards_sound(const cz_hazards *hazards, int64_t accesses) {
    int64_t every = hazards->capacity / 8 > 1 ? hazards->capacity / 8 : 1, ranked = hazards->n.ranked;
    if (ranked < 0 || ranked > accesses || accesses - ranked > every)
        return false;
    for (int b = 0; b < CZ_AGES; b++) {
        int64_t left = b == CZ_AGES - 1 || ranked < hazards->edges[b + 1] ? 0 : ranked - hazards->edges[b + 1];
        if (hazards->n.left[b] != left)
            return false;
    }
    for (int64_t k = 0; k < hazards->ring; k++)
        if (hazards->classes[k] >= hazards->n_classes)
            return false;
    return true;
}

/* The forest's cache; found[slot] is 1 where a page is resident. */
static bool worth_sound(const cz_worth *worth, cz_check *check) {
    if (worth->n.used < 0 || worth->n.used > worth->capacity || worth->n.drawn < 0 || worth->n.drawn > MOST_NUMBER)
        return false;
    for (int64_t k = 0; k < worth->n.used; k++) {
        const cz_resident *one = &worth->residents[k];
        if (!cz_slot_sound(check, one->slot) || worth->place[one->slot] != k + 1 || one->last < 0 ||
            one->last >= check->accesses || one->class < 0 || one->class >= worth->hazards.n_classes)
            return false;
        check->found[one->slot] = 1;
    }
    for (int64_t slot = 0; slot < check->slots; slot++)
        if (worth->place[slot] != 0 && !check->found[slot])
            return false;
    return true;
}

/* The follower must hold of expert e what `found` says that this holds. */
static bool holders_sound(const cz_follow *follow, int e, const cz_check *check) {
    for (int64_t slot = 0; slot < check->slots; slot++)
        if ((follow->pages[slot].holders >> e & 1) != (check->found[slot] != 0))
            return false;
    return true;
}

/* Places of the cache are each given to one page. */
static bool slots_sound(const cz_follow *follow, cz_check *check) {
    int64_t pages = 0;
    memset(check->taken, 0, (size_t)follow->capacity);
    for (int64_t slot = CZ_FIRST_SLOT; slot < check->slots; slot++) {
        const cz_followed_page *page = &follow->pages[slot];
        if (page->place != check->found[slot] || page->holders >> follow->experts != 0)
            return false;
        if (page->place == 0)
            continue;
        bool kept = page->holders >> follow->n.leader & 1;
        if (page->slot < 0 || page->slot >= follow->n.used || check->taken[page->slot]++ || kept != (page->place == 1))
            return false;
        pages++;
    }
    return pages == follow->n.used;
}

static bool follow_sound(const cz_follow *follow, cz_check *check) {
    int64_t kept, strays;
    if (follow->n.leader < 0 || follow->n.leader >= follow->experts || follow->n.used < 0 ||
        follow->n.used > follow->capacity || !(follow->n.weight >= 1 && isfinite(follow->n.weight)))
        return false;
    for (int e = 0; e < follow->experts; e++)
        if (!isfinite(follow->n.credit[e]) || follow->n.lacks[e] < 0 || follow->n.lacks[e] > follow->capacity)
            return false;
    cz_check_anew(check);
    return cz_list_sound(follow->links, 0, check, &kept) && cz_list_sound(follow->links, 1, check, &strays) &&
           slots_sound(follow, check);
}

static bool experts_sound(const cz_reuse *cache, cz_check *check) {
    cz_check_anew(check);
    if (!worth_sound(&cache->worth, check) || !holders_sound(&cache->follow, 0, check))
        return false;
    for (int k = 0; k < cache->n_shadows; k++)
        if (!cz_classic_sound(&cache->shadows[k], check))
            return false;
    for (int k = 0; k < cache->n_experts; k++)
        if (!cz_classic_sound(&cache->experts[k], check) || !holders_sound(&cache->follow, k + 1, check))
            return false;
    return true;
}

static int64_t rows_of(const cz_own *own) {
    return own->trees.n ? own->sample * (CZ_EPOCHS + 1) : 0;
}

bool cz_reuse_sound(const cz_reuse *cache) {
    int64_t rows = rows_of(&cache->own), places = rows > cache->follow.capacity ? rows : cache->follow.capacity;
    cz_check check = {.slots = cache->table.n.used, .accesses = cache->n.accesses};
    if (cache->n.accesses < 0 || cache->n.accesses > MOST_NUMBER || cache->n.requests > (uint64_t)MOST_NUMBER ||
        cache->n.end < 0 || cache->n.volume < -1)
        return false;
    check.found = malloc((size_t)check.slots);
    check.taken = malloc((size_t)places);
    bool sound = check.found && check.taken && table_sound(&cache->table, cache->n.requests) &&
                 pages_sound(cache, rows) && past_sound(cache) && cz_own_sound(&cache->own, &check) &&
                 hazards_sound(&cache->worth.hazards, cache->n.accesses) && experts_sound(cache, &check) &&
                 follow_sound(&cache->follow, &check);
    free(check.found);
    free(check.taken);
    return sound;
}
