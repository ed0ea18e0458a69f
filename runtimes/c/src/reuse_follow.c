/* The follower: which expert leads, and what is held while the pages of another come in (kernels/follow.py). */
#include "reuse_parts.h"

enum { OUT, KEPT, STRAY }; /* a page's place; the ends of the lists are one less */
#define LARGEST 1e100

void cz_follow_new(cz_follow *follow, cz_memory *memory, const cz_table *pages, int64_t capacity, int experts) {
    follow->capacity = capacity;
    follow->experts = experts;
    follow->n.weight = 1.0;
    follow->links = cz_memory_room(memory, (size_t)pages->most, sizeof *follow->links, &pages->n.used);
    follow->pages = cz_memory_room(memory, (size_t)pages->most, sizeof *follow->pages, &pages->n.used);
    cz_memory_keep(memory, &follow->n, sizeof follow->n);
    if (!memory->failed)
        cz_link_ends(follow->links);
}

/* To the head of the kept pages or of the strays, from wherever it is. */
static void move(cz_follow *follow, int32_t slot, uint16_t place) {
    if (follow->pages[slot].place != OUT)
        cz_unlink(follow->links, slot);
    follow->pages[slot].place = place;
    cz_link_head(follow->links, place - 1, slot);
}

/* The experts take an access; returns the bits of those that hit. */
static uint32_t watch(cz_follow *follow, int32_t slot, const uint8_t *outcome, const int32_t *victims) {
    uint32_t hit = 0;
    for (int e = 0; e < follow->experts; e++) {
        uint16_t bit = (uint16_t)(1 << e);
        if (outcome[e] == CZ_HIT) {
            hit |= bit;
            follow->n.credit[e] += follow->n.weight;
        } else if (outcome[e] != CZ_BYPASSED) {
            follow->pages[slot].holders |= bit;
            follow->n.lacks[e] += follow->pages[slot].place == OUT;
            if (victims[e] != CZ_NONE) {
                follow->pages[victims[e]].holders &= (uint16_t)~bit;
                follow->n.lacks[e] -= follow->pages[victims[e]].place == OUT;
            }
        }
    }
    return hit;
}

/* One access more: what was counted so far weighs less than the next hit. */
static void age(cz_follow *follow) {
    follow->n.weight *= follow->growth;
    if (follow->n.weight <= LARGEST)
        return;
    for (int e = 0; e < follow->experts; e++)
        follow->n.credit[e] /= follow->n.weight;
    follow->n.weight = 1.0;
}

/* The expert that pays best for a change, or the leader if none pays for it. */
static int64_t ahead_of(const cz_follow *follow) {
    int64_t leader = follow->n.leader, best = leader;
    double most = 0.0;
    for (int e = 0; e < follow->experts; e++) {
        double ahead = (follow->n.credit[e] - follow->n.credit[leader]) / follow->n.weight;
        double gain = ahead - follow->lead - follow->price * (double)follow->n.lacks[e];
        if (gain > most) {
            best = e;
            most = gain;
        }
    }
    return best;
}

/* The pages that the leader holds are kept, all others are strays. */
static void change(cz_follow *follow, int64_t leader) {
    follow->n.leader = leader;
    for (uint16_t place = KEPT; place <= STRAY; place++) {
        for (int32_t slot = follow->links[place - 1].before; slot != place - 1;) {
            int32_t newer = follow->links[slot].before;
            bool held = follow->pages[slot].holders >> leader & 1;
            if (held != (place == KEPT))
                move(follow, slot, held ? KEPT : STRAY);
            slot = newer;
        }
    }
}

/* The page came in (-1) or left (1): the experts that hold it have one page less, or more, that is not held. */
static void lacking(cz_follow *follow, int32_t slot, int change) {
    for (int e = 0; e < follow->experts; e++)
        if (follow->pages[slot].holders >> e & 1)
            follow->n.lacks[e] += change;
}

/* A page of the leader comes in; the oldest stray leaves for it where the cache is full. */
static int32_t enter(cz_follow *follow, int32_t slot) {
    int32_t left = CZ_NONE;
    if (follow->n.used == follow->capacity) {
        left = cz_pop_tail(follow->links, STRAY - 1);
        follow->pages[left].place = OUT;
        follow->pages[slot].slot = follow->pages[left].slot;
        lacking(follow, left, 1);
    } else {
        follow->pages[slot].slot = (int32_t)follow->n.used++;
    }
    move(follow, slot, KEPT);
    lacking(follow, slot, -1);
    return left;
}

int cz_follow_serve(cz_follow *follow, int32_t slot, const uint8_t *outcome, const int32_t *victims, int32_t *victim) {
    *victim = CZ_NONE;
    age(follow);
    uint32_t hit = watch(follow, slot, outcome, victims);
    int32_t left = victims[follow->n.leader];
    if (left != CZ_NONE && follow->pages[left].place == KEPT)
        move(follow, left, STRAY);
    if (hit && !(hit >> follow->n.leader & 1)) {
        int64_t ahead = ahead_of(follow);
        if (ahead != follow->n.leader)
            change(follow, ahead);
    }
    bool held = follow->pages[slot].holders >> follow->n.leader & 1;
    if (follow->pages[slot].place != OUT) {
        move(follow, slot, held ? KEPT : STRAY);
        return CZ_HIT;
    }
    if (!held)
        return CZ_BYPASSED;
    *victim = enter(follow, slot);
    return CZ_ADMITTED;
}
