/* Sends a trace's requests to an NBD server, one after the other, and measures each.
 *
 * gcc -O2 nbd_replay.c -lnbd; nbd_replay SOCKET < requests > times
 * stdin: int64 op (0 read, 1 write), offset, size for each request. stdout: int64 ns for each. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <libnbd.h>

static void end(const char *what) {
    fprintf(stderr, "nbd_replay: %s\n", what);
    exit(1);
}

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

int main(int n, char **words) {
    struct nbd_handle *disk = nbd_create();
    int64_t request[3], room = 0;
    char *data = NULL;
    if (n != 2 || !disk || nbd_connect_unix(disk, words[1]) < 0)
        end(n == 2 ? nbd_get_error() : "usage: nbd_replay SOCKET");
    while (fread(request, sizeof *request, 3, stdin) == 3) {
        if (request[2] > room) {
            free(data);
            room = request[2];
            data = calloc(1, (size_t)room);
            if (!data)
                end("no memory");
        }
        int64_t begin = now();
        int failed = request[0] ? nbd_pwrite(disk, data, (size_t)request[2], (uint64_t)request[1], 0)
                                : nbd_pread(disk, data, (size_t)request[2], (uint64_t)request[1], 0);
        int64_t took = now() - begin;
        if (failed)
            end(nbd_get_error());
        fwrite(&took, sizeof took, 1, stdout);
    }
    nbd_shutdown(disk, 0);
    nbd_close(disk);
    free(data);
    return fflush(stdout) ? 1 : 0;
}
