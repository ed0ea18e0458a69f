/* Prefetch modes, as src/cachezoo/flash_cache/modes.py has them. */
#include <string.h>

#include "flash.h"

/* next(n), with n of at most nine digits and without leading zeros. */
static bool parse_next(const char *text, int64_t *ahead) {
    if (strncmp(text, "next(", 5) != 0)
        return false;
    const char *at = text + 5;
    int64_t number = 0;
    int digits = 0;
    for (; *at >= '0' && *at <= '9' && digits < 9; at++, digits++)
        number = 10 * number + (*at - '0');
    *ahead = number;
    return digits > 0 && text[5] != '0' && strcmp(at, ")") == 0;
}

bool cz_prefetch_parse(const char *text, cz_prefetch_mode *mode) {
    static const struct {
        const char *name;
        enum cz_prefetching kind;
    } known[] = {{"none", CZ_NO_PREFETCH}, {"all_on_miss", CZ_ALL_ON_MISS}, {"all_on_partial", CZ_ALL_ON_PARTIAL}};
    mode->ahead = 0;
    for (size_t k = 0; k < sizeof known / sizeof known[0]; k++) {
        if (strcmp(text, known[k].name) == 0) {
            mode->kind = known[k].kind;
            return true;
        }
    }
    mode->kind = CZ_NEXT;
    return parse_next(text, &mode->ahead);
}

void cz_prefetch_plain(const cz_prefetch_mode *mode, int64_t last, int64_t per_block, cz_verdict *verdict) {
    int64_t low = 0, high = mode->kind == CZ_NO_PREFETCH ? 0 : per_block;
    if (mode->kind == CZ_NEXT) {
        low = last + 1 < per_block ? last + 1 : per_block;
        high = low + mode->ahead < per_block ? low + mode->ahead : per_block;
    }
    verdict->low = (int32_t)low;
    verdict->high = (int32_t)high;
    verdict->on_partial = mode->kind == CZ_ALL_ON_PARTIAL;
}
