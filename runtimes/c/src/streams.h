/* The table of kind streams: from a chunk to its stream. */
#ifndef CZ_STREAMS_H
#define CZ_STREAMS_H

#include "internal.h"

#define CZ_CHUNK_BYTES 32768
#define CZ_MOST_STREAMS 256

typedef struct cz_table cz_table;

/* Read sid.bin: ranges of chunks of one stream. Anything but what its format says is refused. */
int cz_table_read(const unsigned char *data, size_t size, const char *where, cz_table **table, cz_error *error);
void cz_table_free(cz_table *table);
uint32_t cz_table_streams(const cz_table *table); /* K: every id is below it */
uint32_t cz_table_ranges(const cz_table *table);
/* Stream of the write that begins at a byte offset: 0 where its chunk was not learned. */
int cz_table_stream(const cz_table *table, uint64_t offset);

#endif
