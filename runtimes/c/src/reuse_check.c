/* What the checks of a restored reuse cache's parts have in common. */
#include <string.h>

#include "reuse_check.h"

bool cz_list_sound(const cz_link *links, int32_t end, cz_check *check, int64_t *length) {
    int32_t before = end;
    *length = 0;
    for (int32_t slot = links[end].after; slot != end; slot = links[slot].after) {
        if (!cz_slot_sound(check, slot) || links[slot].before != before || check->found[slot] != 0)
            return false;
        check->found[slot] = (uint8_t)(end + 1);
        before = slot;
        ++*length;
    }
    return links[end].before == before;
}

void cz_check_anew(cz_check *check) {
    memset(check->found, 0, (size_t)check->slots);
}
