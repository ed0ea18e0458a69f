/* What the parts of libcachezoo share. Nothing here is installed. */
#ifndef CZ_INTERNAL_H
#define CZ_INTERNAL_H

#include <string.h>

#include <stdbool.h>

#include "cachezoo.h"

/* ---- errors: one line, always returns `code` ---- */
int cz_fail(cz_error *error, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* A bundle is refused: where it is, what is wrong with it, what to do; CZ_BAD_BUNDLE. */
int cz_refuse(const char *where, cz_error *error, const char *fix, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* ---- numbers and texts ---- */
/* A decimal number at the beginning of a text that ends with 0, as Python's float() and C's strtod read it, under every
 * locale. False where there is none; infinite where it is too large. */
bool cz_decimal(const char *text, const char **end, double *found);
/* A text that is a whole number and nothing else; false too where an int64 does not hold it. */
bool cz_whole(const char *text, size_t length, int64_t *found);
bool cz_is_utf8(const void *data, size_t size);
size_t cz_characters(const char *text); /* of UTF-8 */

typedef struct cz_sha256 {
    uint32_t state[8];
    uint64_t size;
    unsigned char block[64];
} cz_sha256;
void cz_sha256_start(cz_sha256 *sum);
void cz_sha256_add(cz_sha256 *sum, const void *data, size_t size);
void cz_sha256_end(cz_sha256 *sum, char text[65]);
void cz_sha256_of(const void *data, size_t size, char text[65]);

/* ---- JSON: a document of finite numbers and unique keys, read once, freed whole ---- */
enum cz_json_type { CZ_JSON_NULL, CZ_JSON_BOOL, CZ_JSON_NUMBER, CZ_JSON_TEXT, CZ_JSON_LIST, CZ_JSON_OBJECT };
typedef struct cz_json {
    enum cz_json_type type;
    bool truth, integral, whole; /* a number without point or exponent; and an int64 holds it */
    double number;
    int64_t integer;
    const char *text;      /* UTF-8, ends with 0, holds no 0 */
    size_t length;         /* of a list or an object */
    struct cz_json *items; /* of a list or an object */
    const char **keys;     /* of an object, as in the file */
} cz_json;
typedef struct cz_json_document cz_json_document;
int cz_json_read(const char *data, size_t size, const char *where, cz_json_document **document, cz_error *error);
void cz_json_free(cz_json_document *document);
const cz_json *cz_json_root(const cz_json_document *document);
/* "policy.history.windows": NULL where there is none; a list's entry is items[i]. */
const cz_json *cz_json_get(const cz_json *value, const char *path);
const cz_json *cz_json_member(const cz_json *object, const char *key,
                              size_t length); /* of a key that may hold points */

/* ---- a bundle's bytes, checked ---- */
typedef struct cz_file {
    const char *path;
    const unsigned char *data;
    size_t size;
} cz_file;
const cz_file *cz_bundle_file(const cz_bundle *bundle, const char *path); /* NULL where it holds none */
const cz_json *cz_bundle_json(const cz_bundle *bundle); /* manifest and model in one object, as the kinds read them */
const char *cz_bundle_where(const cz_bundle *bundle);

/* Values of the bundle that a golden set changes: the kinds read every number of the model through these. Each fails
 * with CZ_BAD_BUNDLE where the place is missing, of another type, or out of [least, most]. */
typedef struct cz_values cz_values;
int cz_values_whole(const cz_values *values, const char *place, int64_t least, int64_t most, int64_t *found,
                    cz_error *error);
int cz_values_number(const cz_values *values, const char *place, double *found, cz_error *error);
int cz_values_text(const cz_values *values, const char *place, const char **found, cz_error *error);
const cz_json *cz_values_get(const cz_values *values, const char *place); /* NULL where it is missing */

/* ---- npy and golden sets ---- */
typedef struct cz_golden {
    const char *name; /* "" for the real rows, else the synthetic set's */
    int64_t rows;
    cz_request *requests; /* names interned in `names` */
    char **names[4];      /* by enum cz_column; names[c][request.column] */
    int32_t n_names[4];
    bool has_namespace, has_user, has_flags;
    int64_t n_features, n_outputs, n_decisions; /* columns */
    int64_t feature_rows, output_rows, decision_rows;
    const float *features, *outputs; /* row-major */
    const int32_t *decisions;
    const cz_json *context;
    bool outputs_given; /* the outputs are not the model's but an input of the decisions */
} cz_golden;

/* What a kind makes of a golden set; arrays of the golden set's sizes, allocated by the caller. */
typedef struct cz_remade {
    float *features, *outputs;
    int32_t *decisions;
} cz_remade;

/* ---- a kind of model ---- */
typedef struct cz_kind_ops {
    const char *name;
    enum cz_kind kind;
    size_t stream_bytes; /* of a struct that begins with struct cz_stream */
    /* Read model and weights with the values given; *model is freed by model_free. */
    int (*model_new)(const cz_bundle *bundle, const cz_values *values, enum cz_precision precision, void **model,
                     cz_error *error);
    void (*model_free)(void *model);
    int (*stream_new)(const void *model, const cz_stream_options *options, cz_stream *stream, cz_error *error);
    void (*stream_free)(cz_stream *stream);
    int (*observe)(cz_stream *stream, const cz_request *request, cz_ticket *ticket);
    int (*decide)(const cz_stream *stream, const cz_ticket *ticket, cz_decision *decision);
    /* Recompute a golden set with a fresh stream. */
    int (*remake)(const cz_bundle *bundle, const void *model, const cz_golden *golden, cz_remade *remade,
                  cz_error *error);
    /* Bytes of state: written to a caller's buffer, NULL to ask how many; and back. Both NULL where none is kept. */
    size_t (*save)(const cz_stream *stream, unsigned char *buffer);
    int (*restore)(cz_stream *stream, const unsigned char *buffer, size_t size, cz_error *error);
    /* Whether a stream of `from` may go on with `to`. */
    int (*may_swap)(const void *from, const void *to, cz_error *error);
    /* Afterwards stream->model is another: what was computed from the one before is made anew. NULL where nothing was. */
    void (*swapped)(cz_stream *stream);
    int (*write_rate)(cz_stream *stream, double bytes_s, cz_error *error); /* NULL of kinds that keep none */
    /* forgotten, keys, bytes and what the kind counts itself; cz_stats adds requests and the bytes of names. */
    void (*stats)(const cz_stream *stream, cz_counters *counters);
    bool (*calibrated)(const cz_stream *stream); /* see cz_calibrated; NULL where every size is */
} cz_kind_ops;

extern const cz_kind_ops cz_kind_admission, cz_kind_caching, cz_kind_workload, cz_kind_reuse, cz_kind_streams,
    cz_kind_virtual, cz_kind_policy;

#define CZ_FLASH_PAGE 8192 /* bytes of a page of flash, that streams by lifetime place */
/* Whether a policy's type is that of streams by lifetime, whose model is a forest. */
static inline bool cz_places_by_lifetime(const char *type) {
    return strcmp(type, "lifetime_placement") == 0;
}

typedef struct cz_names cz_names; /* the interned names of a stream, in names.c */

typedef struct cz_controller cz_controller; /* of a write rate, in controller.h */

struct cz_stream {
    const cz_kind_ops *ops;
    const cz_bundle *bundle;
    const void *model;
    cz_stream_options options;
    cz_names *names;
    uint64_t observed;         /* requests; the kinds count them */
    uint64_t swaps;            /* how often cz_swap changed the bundle: an address may come again */
    cz_controller *controller; /* of cz_write_rate, or NULL; a restored state is none of its */
};
/* cz_restore reads into a new stream and exchanges the two structs: they must not hold their own address. */

int cz_names_new(int32_t each, cz_names **names);
void cz_names_free(cz_names *names);
int32_t cz_names_intern(cz_names *names, enum cz_column column, const char *text); /* CZ_UNKNOWN where it is full */
const char *cz_names_text(const cz_names *names, enum cz_column column, int32_t number);

/* A stream of a model that is not the bundle's own, such as one with the changes of a golden set. */
int cz_stream_make(const cz_bundle *bundle, const cz_kind_ops *ops, const void *model, const cz_stream_options *options,
                   cz_stream **stream, cz_error *error);
/* A stream that has room for a golden set: so many keys, and its names, which get the numbers that they have there. */
int cz_stream_golden(const cz_bundle *bundle, const cz_kind_ops *ops, const void *model, const cz_golden *golden,
                     cz_stream_options options, cz_stream **stream, cz_error *error);

const void *cz_bundle_model(const cz_bundle *bundle);
const cz_kind_ops *cz_bundle_kind(const cz_bundle *bundle);

/* ---- forests: LightGBM's text, flat; float64 sums of the leaves in the trees' order ---- */
typedef struct cz_forest cz_forest;
int cz_forest_read(const unsigned char *data, size_t size, int32_t features, const char *where, cz_forest **forest,
                   cz_error *error);
void cz_forest_free(cz_forest *forest);
double cz_forest_score(const cz_forest *forest, const float *row);

/* ---- safetensors ---- */
typedef struct cz_tensor {
    const char *name;
    const float *data; /* float32 alone */
    int dims;
    int64_t shape[4];
} cz_tensor;
typedef struct cz_tensors cz_tensors;
int cz_tensors_read(const unsigned char *data, size_t size, const char *where, cz_tensors **tensors, cz_error *error);
void cz_tensors_free(cz_tensors *tensors);
size_t cz_tensors_count(const cz_tensors *tensors);
const cz_tensor *cz_tensors_get(const cz_tensors *tensors, const char *name); /* NULL where there is none */

#endif
