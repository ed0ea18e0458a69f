/* Files of saved states. */
#ifndef CZ_SAVED_H
#define CZ_SAVED_H

#include "bytes.h"
#include "internal.h"

/* Write a file whole or not at all: under another name, synced, then renamed. */
int cz_write_file(const char *path, const unsigned char *data, size_t size, cz_error *error);
int cz_read_file(const char *path, unsigned char **data, size_t *size, cz_error *error);

/* A state's file begins with 8 bytes that say what it is and ends with the sha256 of all before, as text, its checksum. */
#define CZ_CHECKSUM 64
/* Write a state of so many bytes; behind them `data` has room for the checksum and a 0. */
int cz_write_state(const char *path, unsigned char *data, size_t size, cz_error *error);
bool cz_is_state(const unsigned char *data, size_t size, const char *magic); /* size: with the checksum */

#endif
