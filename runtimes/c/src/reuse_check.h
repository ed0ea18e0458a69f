/* Checks of a restored reuse cache, part by part. */
#ifndef CZ_REUSE_CHECK_H
#define CZ_REUSE_CHECK_H

#include "reuse_parts.h"

struct cz_check {
    int64_t slots, accesses; /* slots of the page table in use; page accesses so far */
    uint8_t *found;          /* of each slot: what a part's check found of it */
    uint8_t *taken;          /* room for a mark of each place of a cache, or of each row kept */
};

static inline bool cz_slot_sound(const cz_check *check, int64_t slot) {
    return slot >= CZ_FIRST_SLOT && slot < check->slots;
}

/* Walk a list from its end: its pages get found = end + 1, and none may have been found before. */
bool cz_list_sound(const cz_link *links, int32_t end, cz_check *check, int64_t *length);
void cz_check_anew(cz_check *check); /* nothing is found */
bool cz_own_sound(const cz_own *own, cz_check *check);
/* Afterwards found[slot] is not 0 where the classic has the page resident. */
bool cz_classic_sound(const cz_classic *classic, cz_check *check);

#endif
