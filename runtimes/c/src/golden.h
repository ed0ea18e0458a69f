/* Golden sets: what is read of them, and their files' forms. */
#ifndef CZ_GOLDEN_H
#define CZ_GOLDEN_H

#include "bundle.h"

#define CZ_CSV_FIELDS 16

/* CSV as Python's csv writes it: fields in quotes where they need them, quotes doubled. */
typedef struct cz_csv {
    const char *at, *end, *problem;
    char *fields[CZ_CSV_FIELDS]; /* of the last record; each ends with 0 */
    size_t lengths[CZ_CSV_FIELDS];
    int count;
    char *buffer;
} cz_csv;
bool cz_csv_open(cz_csv *in, const char *data, size_t size); /* false: `problem` says why; NULL: no memory */
bool cz_csv_next(cz_csv *in);                                /* false at the end, and where `problem` is set */
void cz_csv_close(cz_csv *in);

/* An array of a golden set in a buffer of its own: version 1.0, C order, two sides. `type` is "<f4" or "<i4". */
int cz_npy_read(const char *where, const char *name, const unsigned char *data, size_t size, const char *type,
                int64_t columns, int64_t *rows, void **array, cz_error *error);

/* The requests of a golden set: fills what cz_golden has of them. */
int cz_requests_read(const char *where, const char *name, const unsigned char *data, size_t size, cz_golden *golden,
                     cz_error *error);

/* A golden set as a kind's `remake` takes it. `entry` says what it holds, `folder` where its files are. */
int cz_golden_read(const cz_bundle *bundle, const cz_values *values, const cz_json *entry, const char *folder,
                   const char *name, cz_golden *golden, cz_error *error);
void cz_golden_free(cz_golden *golden);

#endif
