/* A bundle that was read, and the values that its model is made with. */
#ifndef CZ_BUNDLE_H
#define CZ_BUNDLE_H

#include "store.h"

struct cz_bundle {
    cz_store store; /* of the listed files alone, once they are checked */
    cz_file *files;
    size_t count;
    cz_json_document *manifest, *model_document;
    cz_json root; /* both in one object */
    char digest[65], model_digest[65];
    int64_t release; /* that has it, by a key; 0 where none is set */
    const cz_kind_ops *ops;
    enum cz_precision precision;
    void *model;
};

struct cz_values {
    const char *where, *kind;
    const cz_json *root;
};

/* Files that a bundle of this kind must list besides those of all kinds, up to a NULL; NULL where the kind is unknown.
 * Of kind streams they follow from `type`, that of policy. */
const char *const *cz_kind_files(const char *kind, const char *type);
/* The part of a kind that is compiled in, or NULL. */
const cz_kind_ops *cz_kind_named(const char *kind);
/* Check every file that was found, and read the documents. */
int cz_check_store(cz_bundle *bundle, cz_error *error);
/* Numbers that decide how much is computed or remembered are in their ranges. */
int cz_check_ranges(const cz_values *values, cz_error *error);
/* The result of a part that knows a file or a row alone: its line gets the bundle's name. */
int cz_name_bundle(const char *where, int result, cz_error *error);
/* Rules between values; and that profile and golden columns are those that follow from the others. */
int cz_check_rules(const cz_values *values, cz_error *error);
int cz_check_values(const cz_values *values, cz_error *error);

/* A model's document with some places replaced: blocks are freed with cz_changed_free. */
typedef struct cz_changed {
    cz_json root;
    void *blocks;
} cz_changed;
int cz_changed_new(const cz_json *root, const cz_json *changes, const char *where, cz_changed *changed,
                   cz_error *error);
void cz_changed_free(cz_changed *changed);

#endif
