/* A stored bundle with one file changed and resealed: it is refused, or verified, or its rows differ.
 *
 * Input: a byte for the bundle, one for the file, one for the precision, then the file's new content. Bundles are found
 * in CZ_FUZZ_BUNDLES, folders with colons between. */
#include <string.h>

#include "sealed.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned int seed);

#define HEAD 3
#define MOST_BUNDLES 16

static cz_store bundles[MOST_BUNDLES];
static size_t count;

static void load_all(void) {
    char *places = strdup(getenv("CZ_FUZZ_BUNDLES") ? getenv("CZ_FUZZ_BUNDLES") : ""), *rest = places;
    for (char *path; (path = strsep(&rest, ":")) && *path && count < MOST_BUNDLES;)
        sealed_load(path, &bundles[count++]);
    free(places);
    if (count == 0) {
        fprintf(stderr, "CZ_FUZZ_BUNDLES names no bundle\n");
        exit(1);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    cz_error error = {0};
    cz_bundle *bundle;
    cz_report report;
    if (count == 0)
        load_all();
    if (size < HEAD)
        return 0;
    const cz_store *base = &bundles[data[0] % count];
    const char *path = base->entries[data[1] % base->count].path;
    int result = sealed_open(base, path, data + HEAD, size - HEAD, (enum cz_precision)(data[2] % 3), &bundle, &error);
    if (!result)
        result = cz_verify(bundle, &report, &error);
    cz_close(bundle);
    if (result && (!error.text[0] || strchr(error.text, '\n') || error.code != result))
        abort();
    return 0;
}

/* Numbers decide most of what a runtime does, and byte changes seldom leave JSON or CSV whole: put others in place. */
static size_t other_number(uint8_t *data, size_t size, size_t most, unsigned int seed) {
    static const char *const numbers[] = {
        "0",          "1",       "-1",         "2",     "3",     "4095",
        "4096",       "4097",    "2147483647", "1e308", "1e-30", "9223372036854775807",
        "2147483648", "1000000", "0.5",        "-1e9",  "16",    "64"};
    size_t places = 0, first = 0, end;
    for (int pass = 0; pass < 2; pass++) {
        size_t chosen = places ? seed / 32 % places : 0;
        places = 0;
        for (size_t i = HEAD; i < size; i++) {
            bool begins = data[i] >= '0' && data[i] <= '9' && (data[i - 1] < '0' || data[i - 1] > '9');
            if (begins && pass == 1 && places == chosen)
                first = i;
            places += begins;
        }
    }
    if (first == 0)
        return LLVMFuzzerMutate(data, size, most);
    for (end = first; end < size && data[end] >= '0' && data[end] <= '9';)
        end++;
    const char *number = numbers[seed % (sizeof numbers / sizeof *numbers)];
    size_t length = strlen(number), grown = size - (end - first) + length;
    if (grown > most)
        return LLVMFuzzerMutate(data, size, most);
    memmove(data + first + length, data + end, size - end);
    memcpy(data + first, number, length);
    return grown;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned int seed) {
    if (size > HEAD && seed % 4)
        return other_number(data, size, most, seed / 4);
    return LLVMFuzzerMutate(data, size, most);
}
