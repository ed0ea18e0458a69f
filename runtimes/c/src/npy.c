/* Arrays as numpy writes them, of the one form that golden files have. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "golden.h"

#define HEAD 10

static const char *literal(const char *at, const char *end, const char *text) {
    size_t length = strlen(text);
    return at && (size_t)(end - at) >= length && memcmp(at, text, length) == 0 ? at + length : NULL;
}

static const char *side(const char *at, const char *end, int64_t *found) {
    const char *first = at;
    while (at && at < end && *at >= '0' && *at <= '9')
        at++;
    return at && cz_whole(first, (size_t)(at - first), found) ? at : NULL;
}

/* The header's end, NULL where it is another array's. */
static const char *header(const char *at, const char *end, const char *type, int64_t *rows, int64_t *columns) {
    at = literal(at, end, "{'descr': '");
    at = literal(at, end, type);
    at = literal(at, end, "', 'fortran_order': False, 'shape': (");
    at = side(at, end, rows);
    at = literal(at, end, ", ");
    at = side(at, end, columns);
    at = literal(at, end, "), }");
    while (at && at < end && *at == ' ')
        at++;
    return literal(at, end, "\n");
}

static bool all_finite(const float *values, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (!isfinite(values[i]))
            return false;
    return true;
}

int cz_npy_read(const char *where, const char *name, const unsigned char *data, size_t size, const char *type,
                int64_t columns, int64_t *rows, void **array, cz_error *error) {
    int64_t found = 0, numbers = 0;
    *array = NULL;
    if (size < HEAD || memcmp(data, "\x93NUMPY\x01\x00", 8) != 0)
        return cz_refuse(where, error, "export the bundle again", "%.200s is not a readable .npy file of version 1.0",
                         name);
    size_t length = (size_t)data[8] | (size_t)data[9] << 8;
    if (length > size - HEAD)
        return cz_refuse(where, error, "export the bundle again",
                         "%.200s is not a readable .npy file (its header is cut)", name);
    const char *first = (const char *)data + HEAD, *end = first + length;
    if (header(first, end, type, rows, &found) != end || found != columns)
        return cz_refuse(where, error, "export the bundle again",
                         "%.200s is not a readable .npy file of finite %s with %lld columns in C order", name, type,
                         (long long)columns);
    size_t bytes = size - HEAD - length;
    if (__builtin_mul_overflow(*rows, columns, &numbers) || numbers > INT64_MAX / 4 || (size_t)numbers * 4 != bytes)
        return cz_refuse(where, error, "export the bundle again", "%.200s does not have the bytes of its shape", name);
    *array = malloc(bytes + 1);
    if (!*array)
        return cz_fail(error, CZ_NO_MEMORY, "%s: no memory to read %.200s", where, name);
    memcpy(*array, end, bytes);
    if (type[1] == 'f' && !all_finite(*array, (size_t)numbers))
        return cz_refuse(where, error, "export the bundle again", "%.200s holds a number that is not finite", name);
    return CZ_OK;
}
