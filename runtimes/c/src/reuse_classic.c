/* The classics that this library runs besides a model, by name. */
#include <string.h>

#include "reuse_check.h"

static const cz_classic_ops *const classics[CZ_CLASSICS] = {&cz_azor_ops, &cz_lfu_ops,    &cz_lirs_ops,
                                                            &cz_lru_ops,  &cz_s3fifo_ops, &cz_wtinylfu_ops};

enum cz_classic_name cz_classic_named(const char *text) {
    int name = 0;
    while (name < CZ_CLASSICS && strcmp(classics[name]->name, text) != 0)
        name++;
    return (enum cz_classic_name)name;
}

void cz_classic_new(cz_classic *classic, enum cz_classic_name name, cz_memory *memory, cz_table *pages,
                    int64_t capacity) {
    classic->name = name;
    classic->state = classics[name]->make(memory, pages, capacity);
}

int cz_classic_serve(cz_classic *classic, int32_t slot, uint32_t id, int64_t i, bool metadata, int32_t *victim) {
    *victim = CZ_NONE;
    return classics[classic->name]->serve(classic->state, slot, id, i, metadata, victim);
}

bool cz_classic_holds(const cz_classic *classic, int32_t slot) {
    return classics[classic->name]->holds(classic->state, slot);
}

void cz_classic_forget(cz_classic *classic, int32_t slot) {
    if (classics[classic->name]->forget != NULL)
        classics[classic->name]->forget(classic->state, slot);
}

bool cz_classic_sound(const cz_classic *classic, cz_check *check) {
    cz_check_anew(check);
    return classics[classic->name]->sound(classic->state, check);
}

int64_t cz_classic_most(enum cz_classic_name name, int64_t capacity) {
    return classics[name]->most(capacity);
}
