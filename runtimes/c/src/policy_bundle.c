/* A policy's bundle: read from model.json, or made of its text alone. */
#include "policy.h"

int cz_policy_model_new(const cz_bundle *bundle, const cz_values *values, enum cz_precision precision, void **model,
                        cz_error *error) {
    (void)values, (void)precision, (void)model;
    return cz_fail(error, CZ_BAD_BUNDLE, "%s: this library reads no bundle of kind policy yet", cz_bundle_where(bundle));
}

int cz_policy_remake(const cz_bundle *bundle, const void *model, const cz_golden *golden, cz_remade *remade,
                     cz_error *error) {
    (void)model, (void)golden, (void)remade;
    return cz_fail(error, CZ_BAD_BUNDLE, "%s: this library verifies no bundle of kind policy yet", cz_bundle_where(bundle));
}
