/* CRC-32C by each path of this CPU, and how fast: crc32c_run [SIZE]
 *
 * Without a size, stdin is checked: by each path, from several offsets, in every length up to 1,100 and in all, whole and
 * in two pieces. A line a path: its number and the CRC of the whole. Exit status 1: two paths differ. With one, a line a
 * path: its number and GB/s at that size. */
#include "../nbdkit/crc32c.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define MOST ((size_t)1 << 21)
#define LENGTHS 1100
#define OFFSETS 5

static int differs(enum crc32c_path path, const unsigned char *data, size_t size, size_t cut) {
    uint32_t whole = crc32c_by(CRC32C_TABLES, 0, data, size);
    uint32_t pieces = crc32c_by(path, crc32c_by(path, 0, data, cut), data + cut, size - cut);
    return whole != crc32c_by(path, 0, data, size) || whole != pieces;
}

static int check(enum crc32c_path path, const unsigned char *data, size_t size) {
    for (size_t offset = 0; offset < OFFSETS && offset < size; offset++) {
        for (size_t length = 0; length <= LENGTHS && offset + length <= size; length++) {
            if (differs(path, data + offset, length, length / 3))
                return 1;
        }
        if (differs(path, data + offset, size - offset, (size - offset) / 3))
            return 1;
    }
    printf("%d %08x\n", (int)path, crc32c_by(path, 0, data, size));
    return 0;
}

static void time_it(enum crc32c_path path, const unsigned char *data, size_t size) {
    struct timespec begin, end;
    uint32_t sum = 0;
    size_t times = ((size_t)1 << 30) / size;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (size_t k = 0; k < times; k++)
        sum += crc32c_by(path, sum, data, size);
    clock_gettime(CLOCK_MONOTONIC, &end);
    double seconds = (double)(end.tv_sec - begin.tv_sec) + 1e-9 * (double)(end.tv_nsec - begin.tv_nsec);
    printf("%d %.1f\n", (int)path, (double)(times * size) / seconds / 1e9);
}

int main(int n, char **words) {
    unsigned char *data = calloc(1, MOST);
    size_t size = n > 1 ? strtoul(words[1], NULL, 10) : data ? fread(data, 1, MOST, stdin) : 0;
    int failed = !data || size > MOST;
    for (int path = 0; path < CRC32C_PATHS && !failed; path++) {
        if (!crc32c_works((enum crc32c_path)path))
            continue;
        if (n > 1)
            time_it((enum crc32c_path)path, data, size);
        else
            failed = check((enum crc32c_path)path, data, size);
    }
    free(data);
    return failed;
}
