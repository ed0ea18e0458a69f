#include "pages.h"

struct cz_pages {
    cz_stream *stream;
};

int cz_pages_new(const cz_cache_options *options, cz_stream *stream, cz_pages **pages, cz_error *error)
{
    (void)options;
    *pages = NULL;
    return cz_fail(error, CZ_BAD_CALL, "cache: a bundle of kind %s brings no cache of its own", stream->ops->name);
}

void cz_pages_free(cz_pages *pages)
{
    (void)pages;
}

int cz_pages_access(cz_pages *pages, const cz_request *request, cz_access *access)
{
    (void)pages, (void)request, (void)access;
    return CZ_BAD_CALL;
}

void cz_pages_stats(const cz_pages *pages, cz_counters *counters)
{
    (void)pages;
    *counters = (cz_counters){0};
}
