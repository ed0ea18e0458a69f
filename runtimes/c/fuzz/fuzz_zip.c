/* A bundle's .zip in memory: what is read of it must be the one archive of its files. */
#include <string.h>

#include "store.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    cz_store store;
    cz_error error;
    cz_bundle *bundle = NULL;
    if (cz_store_new("a.zip", &store, &error))
        return 0;
    if (cz_zip_read(data, size, &store, &error)) {
        cz_store_free(&store);
        return 0;
    }
    cz_open_store(&store, CZ_FP32, &bundle, &error);
    cz_close(bundle);
    return 0;
}
