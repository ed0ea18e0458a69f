/* The cache of the forest: of some residents drawn at random the one worth least leaves (kernels/evict/worth.py). */
#include "reuse_parts.h"

void cz_worth_new(cz_worth *worth, cz_memory *memory, const cz_table *pages, int64_t capacity)
{
    worth->capacity = capacity;
    worth->residents = cz_memory_room(memory, (size_t)capacity, sizeof *worth->residents, NULL);
    worth->place = cz_memory_room(memory, (size_t)pages->most, sizeof *worth->place, &pages->n.used);
    cz_memory_keep(memory, &worth->n, sizeof worth->n);
}

static inline double worth_of(const cz_worth *worth, int64_t last, int class, int64_t i)
{
    return worth->hazards.worth[class * CZ_AGES + cz_age_bin(&worth->hazards, i - last)];
}

/* The resident to leave for a page of a class: its place from 0, -1 if the page itself is worth least. */
static int64_t least_of(cz_worth *worth, int64_t i, int class)
{
    bool every = worth->candidates >= worth->capacity;
    int64_t n = every ? worth->capacity : worth->candidates, at = -1, oldest = i;
    double least = worth_of(worth, i, class, i);
    for (int64_t k = 0; k < n; k++) {
        int64_t place = every ? k : cz_scaled(cz_draw(worth->seed, worth->n.drawn + k), worth->capacity);
        const cz_resident *other = &worth->residents[place];
        double found = worth_of(worth, other->last, other->class, i);
        if (found < least || (found == least && other->last < oldest)) {
            least = found;
            at = place;
            oldest = other->last;
        }
    }
    worth->n.drawn += n;
    return at;
}

int cz_worth_serve(cz_worth *worth, int32_t slot, const cz_page *page, int64_t i, int class, int32_t *victim)
{
    cz_resident entry = {.last = i, .slot = slot, .class = (uint8_t)class};
    *victim = CZ_NONE;
    cz_hazards_saw(&worth->hazards, i, class, page->last, page->class);
    if (worth->place[slot] != 0) {
        worth->residents[worth->place[slot] - 1] = entry;
        return CZ_HIT;
    }
    int64_t at = worth->n.used;
    if (at < worth->capacity) {
        worth->n.used++;
    } else {
        at = least_of(worth, i, class);
        if (at < 0)
            return CZ_BYPASSED;
        *victim = worth->residents[at].slot;
        worth->place[*victim] = 0;
    }
    worth->residents[at] = entry;
    worth->place[slot] = (int32_t)(at + 1);
    return CZ_ADMITTED;
}
