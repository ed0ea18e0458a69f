/* The command cz. */
#ifndef CZ_CLI_H
#define CZ_CLI_H

#include <stdbool.h>
#include <stdio.h>

#include "cachezoo.h"

typedef struct cz_arguments {
    const char *path, *trace, *key;
    enum cz_precision precision;
    enum cz_mode mode;
    int64_t capacity, window;
} cz_arguments;

/* Print a line, without what a terminal obeys: names of files and a bundle's texts may hold anything. */
void cz_print(FILE *to, const char *format, ...) __attribute__((format(printf, 2, 3)));
int cz_usage(const char *problem, const char *what);
int cz_cli_run(const cz_arguments *given);

#endif
