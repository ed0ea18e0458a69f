/* The emulated drive. An erase looks at all reclaim units: no structure finds a victim faster, so that what each rule asks
 * for is what stands here. */
#include "drive.h"

#include <stdlib.h>
#include <string.h>

#define NOWHERE UINT32_MAX

typedef struct unit {
    uint32_t valid, filled, handle;
    bool full;
    uint64_t sealed;  /* units that became full before it */
    uint64_t full_at; /* time at which it became full, in page writes of the host */
    uint64_t since;   /* order in which full units came to the valid pages that they have */
} unit;

struct fdp_drive {
    fdp_settings settings;
    uint32_t *place; /* [pages] slot of the valid version: unit * unit_pages + number in it */
    uint32_t *owner; /* [slots] page of which it is the valid version */
    unit *units;
    uint32_t *free; /* ring: the first erased is the first taken */
    uint32_t *open; /* [open units], by handle, those of copies after the host's */
    uint32_t free_first, n_free;
    uint64_t clock, sealed, moved;
    fdp_counts counts;
};

uint32_t fdp_open_units(const fdp_settings *settings) {
    if (settings->copies == FDP_KEEP)
        return settings->handles;
    return settings->copies == FDP_SHARED ? settings->handles + 1 : 2 * settings->handles;
}

const char *fdp_wrong(const fdp_settings *own) {
    if (own->units < 2 || own->unit_pages < 1 || own->pages < 1 || own->keep_free < 1)
        return "it has 2 reclaim units, 1 page in each, 1 page with an address and 1 free unit at least";
    if (own->handles < 1 || own->handles > FDP_MOST_HANDLES)
        return "it has 1 to 128 placement handles";
    if ((uint64_t)own->units * own->unit_pages >= NOWHERE)
        return "its pages are too many to number";
    uint64_t taken = (uint64_t)own->keep_free + fdp_open_units(own);
    if (own->units <= taken || own->pages > (own->units - taken) * own->unit_pages)
        return "too few reclaim units for its pages, beside the free ones and an open one for each handle";
    return NULL;
}

fdp_drive *fdp_new(const fdp_settings *settings) {
    fdp_drive *made = calloc(1, sizeof *made);
    size_t slots = (size_t)settings->units * settings->unit_pages;
    if (!made)
        return NULL;
    made->settings = *settings;
    made->place = malloc(settings->pages * sizeof *made->place);
    made->owner = malloc(slots * sizeof *made->owner);
    made->units = calloc(settings->units, sizeof *made->units);
    made->free = malloc(settings->units * sizeof *made->free);
    made->open = malloc(fdp_open_units(settings) * sizeof *made->open);
    if (!made->place || !made->owner || !made->units || !made->free || !made->open) {
        fdp_free(made);
        return NULL;
    }
    memset(made->place, 0xff, settings->pages * sizeof *made->place);
    memset(made->owner, 0xff, slots * sizeof *made->owner);
    memset(made->open, 0xff, fdp_open_units(settings) * sizeof *made->open);
    for (uint32_t i = 0; i < settings->units; i++)
        made->free[i] = i;
    made->n_free = settings->units;
    return made;
}

void fdp_free(fdp_drive *drive) {
    if (!drive)
        return;
    free(drive->place);
    free(drive->owner);
    free(drive->units);
    free(drive->free);
    free(drive->open);
    free(drive);
}

const fdp_counts *fdp_counted(const fdp_drive *drive) {
    return &drive->counts;
}

/* The valid version of a page becomes garbage; false where there is none. */
static bool kill_page(fdp_drive *drive, uint32_t page) {
    uint32_t slot = drive->place[page];
    if (slot == NOWHERE)
        return false;
    unit *own = &drive->units[slot / drive->settings.unit_pages];
    drive->place[page] = drive->owner[slot] = NOWHERE;
    own->valid--;
    own->since = drive->moved++;
    return true;
}

static void append(fdp_drive *drive, uint32_t page, uint32_t handle) {
    const fdp_settings *settings = &drive->settings;
    uint32_t number = drive->open[handle];
    if (number == NOWHERE) {
        number = drive->open[handle] = drive->free[drive->free_first];
        drive->free_first = (drive->free_first + 1) % settings->units;
        drive->n_free--;
        drive->units[number].handle = handle;
    }
    unit *own = &drive->units[number];
    uint32_t slot = number * settings->unit_pages + own->filled;
    drive->place[page] = slot;
    drive->owner[slot] = page;
    own->filled++;
    own->valid++;
    if (own->filled < settings->unit_pages)
        return;
    drive->open[handle] = NOWHERE;
    own->full = true;
    own->sealed = drive->sealed++;
    own->full_at = drive->clock;
    own->since = drive->moved++;
}

/* The fewest valid pages; of equals the unit that has had so few for the longest. */
static bool greedy_before(const unit *a, const unit *b) {
    return a->valid != b->valid ? a->valid < b->valid : a->since < b->since;
}

/* (1 - u) / 2u of the share u of valid pages, times the age. */
static double benefit(const fdp_drive *drive, const unit *own) {
    double share = (double)own->valid / drive->settings.unit_pages;
    return (1 - share) / (2 * share) * (double)(drive->clock - own->full_at);
}

/* A unit without a valid page first; of equals that of fewer valid pages, then the one that became full first. */
static bool benefit_before(const fdp_drive *drive, const unit *a, const unit *b) {
    if (a->valid && b->valid) {
        double x = benefit(drive, a), y = benefit(drive, b);
        if (x != y)
            return x > y;
    }
    return a->valid != b->valid ? a->valid < b->valid : a->sealed < b->sealed;
}

static uint32_t victim_of(const fdp_drive *drive) {
    uint32_t found = NOWHERE;
    for (uint32_t i = 0; i < drive->settings.units; i++) {
        const unit *own = &drive->units[i], *best = &drive->units[found == NOWHERE ? i : found];
        if (!own->full || own->valid == drive->settings.unit_pages)
            continue;
        if (found == NOWHERE ||
            (drive->settings.victim == FDP_GREEDY ? greedy_before(own, best) : benefit_before(drive, own, best)))
            found = i;
    }
    return found; /* there is one: fdp_wrong leaves more units than valid pages need */
}

static uint32_t handle_of_copy(const fdp_drive *drive, uint32_t handle) {
    const fdp_settings *settings = &drive->settings;
    if (settings->copies == FDP_KEEP || handle >= settings->handles)
        return handle;
    return settings->copies == FDP_SHARED ? settings->handles : settings->handles + handle;
}

static void collect(fdp_drive *drive) {
    const fdp_settings *settings = &drive->settings;
    uint32_t number = victim_of(drive), first = number * settings->unit_pages;
    unit *victim = &drive->units[number];
    uint32_t target = handle_of_copy(drive, victim->handle);
    victim->full = false;
    for (uint32_t slot = first; slot < first + settings->unit_pages; slot++) {
        uint32_t page = drive->owner[slot];
        if (page == NOWHERE)
            continue;
        drive->owner[slot] = NOWHERE;
        append(drive, page, target);
        drive->counts.copied++;
    }
    victim->valid = victim->filled = 0;
    drive->free[(drive->free_first + drive->n_free++) % settings->units] = number;
    drive->counts.erased++;
}

void fdp_fill(fdp_drive *drive) {
    for (uint32_t page = 0; page < drive->settings.pages; page++) {
        append(drive, page, 0);
        drive->clock++;
    }
}

void fdp_write(fdp_drive *drive, uint32_t page, uint32_t handle) {
    kill_page(drive, page);
    if (drive->open[handle] == NOWHERE)
        while (drive->n_free <= drive->settings.keep_free)
            collect(drive);
    append(drive, page, handle);
    drive->clock++;
    drive->counts.host++;
    drive->counts.by_handle[handle]++;
}

void fdp_trim(fdp_drive *drive, uint32_t page) {
    drive->counts.trimmed += kill_page(drive, page);
}
