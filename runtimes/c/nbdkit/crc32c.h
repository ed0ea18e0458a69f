#ifndef CZ_CRC32C_H
#define CZ_CRC32C_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* CRC-32C (Castagnoli), going on from `crc`, which is 0 at first. */
uint32_t crc32c(uint32_t crc, const void *data, size_t size);

/* The ways to compute it, from the slowest; crc32c takes the last that this CPU has. */
enum crc32c_path { CRC32C_TABLES, CRC32C_PCLMUL, CRC32C_AVX512, CRC32C_PATHS };

bool crc32c_works(enum crc32c_path path);
uint32_t crc32c_by(enum crc32c_path path, uint32_t crc, const void *data, size_t size);

#endif
