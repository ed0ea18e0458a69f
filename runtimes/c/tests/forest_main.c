/* forest_main MODEL FEATURES ROWS SCORES: scores float32 rows of a file, writes float64. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../src/internal.h"

static unsigned char *read_whole(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    if (!file)
        return NULL;
    fseek(file, 0, SEEK_END);
    *size = (size_t)ftell(file);
    rewind(file);
    unsigned char *data = malloc(*size + 1);
    if (data && fread(data, 1, *size, file) != *size)
        abort();
    fclose(file);
    return data;
}

int main(int argc, char **argv) {
    size_t size, bytes;
    cz_error error = {0};
    cz_forest *forest;
    if (argc != 5)
        return 2;
    int32_t features = atoi(argv[2]);
    unsigned char *text = read_whole(argv[1], &size), *rows = read_whole(argv[3], &bytes);
    if (!text || !rows)
        return 2;
    if (cz_forest_read(text, size, features, argv[1], &forest, &error) != CZ_OK) {
        fprintf(stderr, "%s\n", error.text);
        free(text);
        free(rows);
        return 1;
    }
    size_t n = bytes / sizeof(float) / (size_t)features;
    FILE *out = fopen(argv[4], "wb");
    for (size_t i = 0; i < n; i++) {
        double score = cz_forest_score(forest, (const float *)(void *)rows + i * (size_t)features);
        if (fwrite(&score, sizeof score, 1, out) != 1)
            return 2;
    }
    if (fclose(out))
        return 2;
    cz_forest_free(forest);
    free(text);
    free(rows);
    return 0;
}
