/* A release as its maker states it, and bundles held to it. */
#ifndef CZ_RELEASE_H
#define CZ_RELEASE_H

#include "bundle.h"
#include "key.h"

/* A document of so many bytes; free it with cz_json_free. */
int cz_release_read(const unsigned char *data, size_t size, const char *where, cz_json_document **document,
                    cz_error *error);
/* The release next to the bundle is the key's, is not older than its floor, and has just this bundle, by its name. */
int cz_check_release(cz_bundle *bundle, const cz_key *key, cz_error *error);

#endif
