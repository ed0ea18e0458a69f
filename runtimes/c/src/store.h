/* The bytes of a bundle, before and after they are checked. */
#ifndef CZ_STORE_H
#define CZ_STORE_H

#include "internal.h"

#define CZ_PROTOCOL 2
#define CZ_MANIFEST "manifest.json"
#define CZ_ACTS "model.json"
#define CZ_SEAL "manifest.sha256"
#define CZ_REFUSED "REFUSED.json"
#define CZ_MOST_MANIFEST ((uint64_t)16 << 20)
#define CZ_MOST_FILE ((uint64_t)1 << 30) /* also of all together */
#define CZ_AGAIN "copy or export the bundle again"

/* A file that was found; data is NULL until it is read. */
typedef struct cz_entry {
    char *path;
    unsigned char *data;
    uint64_t size;
} cz_entry;

typedef struct cz_store {
    char *where;
    int folder;        /* descriptor, -1 where all files are in memory */
    cz_entry *entries; /* by rising path, once they are all found */
    size_t count, room;
    uint64_t bytes;           /* of all */
    const struct cz_key *key; /* that the bundle is held to while it is opened; NULL: none is set */
} cz_store;

int cz_store_new(const char *where, cz_store *store, cz_error *error);
void cz_store_free(cz_store *store);
cz_entry *cz_store_find(const cz_store *store, const char *path);
/* Takes `data` over, also where it fails. */
int cz_store_add(cz_store *store, const char *path, size_t length, unsigned char *data, uint64_t size, cz_error *error);
void cz_store_sort(cz_store *store);
/* Find a bundle's files: in a folder their names and sizes, in an archive their bytes as well. */
int cz_store_open(const char *path, cz_store *store, cz_error *error);
/* Read a file of a folder: it must still be plain and of the size that was found. */
int cz_store_read(const cz_store *store, cz_entry *entry, cz_error *error);
int cz_zip_read(const unsigned char *data, size_t size, cz_store *store, cz_error *error);

/* Check what was found, and make the model of it; takes the store over. */
int cz_open_store(cz_store *store, enum cz_precision precision, cz_bundle **bundle, cz_error *error);

/* Hold a document against a schema, by the last part of its $id. */
int cz_schema_check(const cz_json *value, const char *schema, const char *where, cz_error *error);

/* Texts of src/cachezoo/bundles/ *.schema.json, compiled in. */
typedef struct cz_embedded {
    const char *id; /* the last part of its $id */
    const unsigned char *data;
    size_t size;
} cz_embedded;
extern const cz_embedded cz_schemas[];
extern const size_t cz_n_schemas;

#endif
