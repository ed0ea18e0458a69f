/* Golden sets of kind admission: a fresh history, and where the set's context states a capacity, the
 * flash cache behind the decisions. */
#ifndef CZ_FLASH_SET_H
#define CZ_FLASH_SET_H

#include "flash.h"
#include "history.h"

#define CZ_FLASH_COLUMNS 5 /* hits, written, prefetched, io_segments, evicted */

typedef struct cz_flash_set {
    const cz_golden *golden;
    const cz_history_model *model;
    cz_stream *stream;
    cz_flash *flash;       /* NULL where there is none */
    cz_prefetch_mode mode; /* context.prefetch */
    bool admits_all;       /* context.admit is all: every read's miss is admitted */
} cz_flash_set;

/* `outputs` and `decisions`: columns of the kind, without the cache's. */
int cz_flash_set_new(const cz_bundle *bundle, const cz_kind_ops *ops, const void *kind_model,
                     const cz_history_model *model, const cz_golden *golden, int64_t outputs, int64_t decisions,
                     cz_flash_set *set, cz_error *error);
void cz_flash_set_free(cz_flash_set *set);
/* Observe request i and put its inputs into `remade`. */
int cz_flash_set_observe(cz_flash_set *set, int64_t i, cz_ticket *ticket, cz_remade *remade, cz_error *error);
/* Serve it by the cache, if there is one, and put what became of it into `columns`. */
int cz_flash_set_access(cz_flash_set *set, const cz_request *request, const cz_verdict *verdict, int32_t *columns,
                        cz_error *error);
/* Segments of a request: the first of the volume, and how many. */
int64_t cz_history_segments(const cz_history_model *model, const cz_request *request, int64_t *first);

#endif
