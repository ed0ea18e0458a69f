/* Names of a stream as numbers, and the codes that a model gives them. */
#ifndef CZ_NAMES_H
#define CZ_NAMES_H

#include "internal.h"

#define CZ_COLUMNS 4

int32_t cz_names_count(const cz_names *names, enum cz_column column);
size_t cz_names_bytes(const cz_names *names); /* memory held */
/* The texts of all columns in the order of their numbers; NULL asks how many bytes. Reading replaces what is there,
 * and fails without a word where the bytes are not whole or the names do not fit. */
size_t cz_names_save(const cz_names *names, unsigned char *buffer);
bool cz_names_restore(cz_names *names, const unsigned char *buffer, size_t size);

/* Codes of the names in a column, by the encoding of a model; computed once for each name. */
typedef struct cz_codes {
    const cz_json *encoding; /* {name: code}; NULL where the model has none */
    enum cz_column column;
    bool is_user;  /* what numbers a process's instance is cut off first */
    int32_t *code; /* by number */
    int32_t known, room;
} cz_codes;

int cz_codes_new(cz_codes *codes, enum cz_column column, bool is_user, int32_t room);
void cz_codes_free(cz_codes *codes);
void cz_codes_use(cz_codes *codes, const cz_json *encoding); /* from now on */
/* Code of a name by its number, CZ_UNKNOWN where the encoding has none or the number is CZ_UNKNOWN. */
int32_t cz_codes_of(cz_codes *codes, const cz_names *names, int32_t number);

#endif
