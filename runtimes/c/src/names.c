/* Names as numbers by first use: hash tables of fixed size, with the texts in one piece of memory to a column. */
#include <stdlib.h>
#include <string.h>

#include "bytes.h"
#include "names.h"

#define BYTES_EACH 64     /* room for texts, by name: process names and volumes are shorter, paths may be longer */
#define BYTES_MORE 65536u /* and for few long ones */

typedef struct column {
    int32_t count;
    uint32_t used;   /* bytes of `texts` */
    uint32_t *start; /* of a name's text */
    int32_t *slots;  /* number + 1; 0 is free */
    char *texts;
} column;

struct cz_names {
    int32_t room;
    uint32_t mask;
    column columns[CZ_COLUMNS];
};

static uint32_t hash(const char *text) {
    uint32_t value = 2166136261u; /* FNV-1a */
    for (; *text; text++)
        value = (value ^ (unsigned char)*text) * 16777619u;
    return value ^ (value >> 15);
}

static size_t room_of(const cz_names *names) {
    return (size_t)names->room * BYTES_EACH + BYTES_MORE;
}

int cz_names_new(int32_t each, cz_names **names) {
    *names = NULL;
    if (each < 1 || each > 1 << 24)
        return CZ_BAD_CALL;
    cz_names *made = calloc(1, sizeof *made);
    if (!made)
        return CZ_NO_MEMORY;
    made->room = each;
    made->mask = 1;
    while (made->mask < 2 * (uint32_t)each)
        made->mask = 2 * made->mask + 1;
    bool whole = true;
    for (int c = 0; c < CZ_COLUMNS; c++) {
        column *own = &made->columns[c];
        own->start = calloc((size_t)each, sizeof *own->start);
        own->slots = calloc((size_t)made->mask + 1, sizeof *own->slots);
        own->texts = calloc(1, room_of(made));
        whole = whole && own->start && own->slots && own->texts;
    }
    if (!whole) {
        cz_names_free(made);
        return CZ_NO_MEMORY;
    }
    *names = made;
    return CZ_OK;
}

void cz_names_free(cz_names *names) {
    if (!names)
        return;
    for (int c = 0; c < CZ_COLUMNS; c++) {
        free(names->columns[c].start);
        free(names->columns[c].slots);
        free(names->columns[c].texts);
    }
    free(names);
}

int32_t cz_names_intern(cz_names *names, enum cz_column which, const char *text) {
    column *own = &names->columns[which];
    uint32_t slot = hash(text) & names->mask;
    for (; own->slots[slot]; slot = (slot + 1) & names->mask) {
        int32_t number = own->slots[slot] - 1;
        if (strcmp(own->texts + own->start[number], text) == 0)
            return number;
    }
    size_t bytes = strlen(text) + 1, room = room_of(names);
    if (own->count == names->room || bytes > room - own->used)
        return CZ_UNKNOWN;
    memcpy(own->texts + own->used, text, bytes);
    own->start[own->count] = own->used;
    own->used += (uint32_t)bytes;
    own->slots[slot] = ++own->count;
    return own->count - 1;
}

const char *cz_names_text(const cz_names *names, enum cz_column which, int32_t number) {
    const column *own = &names->columns[which];
    return number >= 0 && number < own->count ? own->texts + own->start[number] : NULL;
}

int32_t cz_names_count(const cz_names *names, enum cz_column which) {
    return names->columns[which].count;
}

size_t cz_names_bytes(const cz_names *names) {
    size_t starts = (size_t)names->room * sizeof(uint32_t), slots = ((size_t)names->mask + 1) * sizeof(int32_t);
    return sizeof *names + CZ_COLUMNS * (starts + slots + room_of(names));
}

size_t cz_names_save(const cz_names *names, unsigned char *buffer) {
    cz_writer out = {buffer, 0};
    for (int c = 0; c < CZ_COLUMNS; c++) {
        cz_put(&out, (uint64_t)names->columns[c].count, 4);
        cz_put(&out, names->columns[c].used, 4);
        cz_put_bytes(&out, names->columns[c].texts, names->columns[c].used);
    }
    return out.size;
}

static bool restore_column(cz_names *names, enum cz_column which, cz_bytes *in) {
    uint32_t count = (uint32_t)cz_take(in, 4), used = (uint32_t)cz_take(in, 4);
    const char *texts = (const char *)cz_take_bytes(in, used), *end = texts ? texts + used : NULL;
    if (in->failed || (used && end[-1] != 0))
        return false;
    for (uint32_t i = 0; i < count; i++) {
        if (texts == end || cz_names_intern(names, which, texts) != (int32_t)i)
            return false;
        texts += strlen(texts) + 1;
    }
    return texts == end;
}

bool cz_names_restore(cz_names *names, const unsigned char *buffer, size_t size) {
    cz_bytes in = {buffer, size, false};
    for (int c = 0; c < CZ_COLUMNS; c++) {
        column *own = &names->columns[c];
        own->count = 0;
        own->used = 0;
        memset(own->slots, 0, ((size_t)names->mask + 1) * sizeof *own->slots);
        if (!restore_column(names, (enum cz_column)c, &in))
            return false;
    }
    return in.left == 0;
}

/* ---- codes ---- */

int cz_codes_new(cz_codes *codes, enum cz_column which, bool is_user, int32_t room) {
    *codes = (cz_codes){.column = which, .is_user = is_user, .room = room};
    codes->code = calloc((size_t)room, sizeof *codes->code);
    return codes->code ? CZ_OK : CZ_NO_MEMORY;
}

void cz_codes_free(cz_codes *codes) {
    free(codes->code);
    *codes = (cz_codes){0};
}

void cz_codes_use(cz_codes *codes, const cz_json *encoding) {
    codes->encoding = encoding;
    codes->known = 0;
}

static int32_t encode(const cz_codes *codes, const char *text) {
    size_t length = codes->is_user ? strcspn(text, "/:") : strlen(text);
    for (size_t i = 0; codes->encoding && i < codes->encoding->length; i++) {
        const char *key = codes->encoding->keys[i];
        if (strncmp(key, text, length) == 0 && key[length] == 0)
            return (int32_t)codes->encoding->items[i].integer;
    }
    return CZ_UNKNOWN;
}

int32_t cz_codes_of(cz_codes *codes, const cz_names *names, int32_t number) {
    if (number < 0 || number >= codes->room)
        return CZ_UNKNOWN;
    int32_t count = cz_names_count(names, codes->column);
    for (; codes->known < count; codes->known++)
        codes->code[codes->known] = encode(codes, cz_names_text(names, codes->column, codes->known));
    return number < count ? codes->code[number] : CZ_UNKNOWN;
}
