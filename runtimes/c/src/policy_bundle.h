/* What is read of a bundle of kind policy. */
#ifndef CZ_POLICY_BUNDLE_H
#define CZ_POLICY_BUNDLE_H

#include "internal.h"

/* Text and values are one composition, which this library runs. */
int cz_policy_check(const cz_values *values, cz_error *error);
/* Golden rows that each read has besides its pages: those that are fetched ahead. Of checked values. */
int64_t cz_policy_rows_ahead(const cz_values *values);

#endif
