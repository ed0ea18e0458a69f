/* A bundle that is a policy's text alone. */
#include <stdio.h>
#include <stdlib.h>

#include "bundle.h"
#include "policy.h"

/* What cz_bundle_info and the kinds look up, in the form of a bundle's documents. */
#define DOCUMENT                                                                                                       \
    "{\"id\": \"policy.text\", \"version\": \"" CZ_VERSION "\", \"kind\": \"policy\", \"features\": [], "              \
    "\"golden\": {\"outputs\": []}, \"geometry\": {\"page_bytes\": 4096}, "                                            \
    "\"policy\": {\"type\": \"composition\", \"text\": \"%s\"}}"

static int describe(cz_bundle *bundle, const cz_policy_plan *plan, cz_error *error) {
    char text[CZ_MOST_POLICY_TEXT], document[sizeof DOCUMENT + CZ_MOST_POLICY_TEXT];
    cz_policy_text(plan, text, sizeof text);
    int length = snprintf(document, sizeof document, DOCUMENT, text);
    int result = cz_store_new(text, &bundle->store, error);
    if (!result)
        result = cz_json_read(document, (size_t)length, text, &bundle->manifest, error);
    if (result)
        return result;
    bundle->root = *cz_json_root(bundle->manifest);
    cz_sha256_of(document, (size_t)length, bundle->digest);
    cz_sha256_of(text, strlen(text), bundle->model_digest);
    return CZ_OK;
}

int cz_policy(const char *text, cz_bundle **bundle, cz_error *error) {
    cz_policy_plan *plan;
    cz_bundle *made;
    if (!bundle)
        return cz_fail(error, CZ_BAD_CALL, "cz_policy: no place for the bundle; pass one");
    *bundle = NULL;
    if (!text)
        return cz_fail(error, CZ_BAD_CALL, "cz_policy: no text; pass one, such as s3fifo");
    made = calloc(1, sizeof *made);
    plan = malloc(sizeof *plan);
    if (!made || !plan) {
        free(made);
        free(plan);
        return cz_fail(error, CZ_NO_MEMORY, "policy: no memory");
    }
    made->store.folder = -1;
    made->ops = &cz_kind_policy;
    made->model = plan;
    int result = cz_policy_parse(text, plan, error);
    if (!result)
        result = describe(made, plan, error);
    if (result)
        cz_close(made);
    else
        *bundle = made;
    return result;
}
