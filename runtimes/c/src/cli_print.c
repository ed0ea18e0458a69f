/* What the command cz prints. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "internal.h"

/* Length of the character at a place: 0 of bytes that are no UTF-8. */
static size_t character(const char *at) {
    for (size_t length = 1; length <= 4 && at[length - 1]; length++)
        if (cz_is_utf8(at, length))
            return length;
    return 0;
}

/* Characters from U+0080 on that a terminal obeys: of control, and marks that turn the direction of writing. */
static bool is_obeyed(const char *at, size_t length) {
    const unsigned char *byte = (const unsigned char *)at;
    if (length == 2)
        return byte[0] == 0xc2 && byte[1] < 0xa0;
    return length == 3 && byte[0] == 0xe2 &&
           ((byte[1] == 0x80 && byte[2] >= 0xaa && byte[2] <= 0xae) ||
            (byte[1] == 0x81 && byte[2] >= 0xa6 && byte[2] <= 0xa9));
}

/* A control character becomes its picture (U+2400 and on), what else a terminal obeys U+FFFD. */
static void put_plain(FILE *to, const char *at, size_t length) {
    unsigned char first = (unsigned char)*at;
    if (length == 1 && (first < 0x20 || first == 0x7f))
        fprintf(to, "\xe2\x90%c", first == 0x7f ? 0xa1 : 0x80 + first);
    else if (length == 0 || is_obeyed(at, length))
        fputs("\xef\xbf\xbd", to);
    else
        fwrite(at, 1, length, to);
}

void cz_print(FILE *to, const char *format, ...) {
    va_list values;
    char *line = NULL;
    va_start(values, format);
    if (vasprintf(&line, format, values) < 0)
        line = NULL;
    va_end(values);
    for (const char *at = line; at && *at;) {
        size_t length = character(at);
        put_plain(to, at, length);
        at += length ? length : 1;
    }
    putc('\n', to);
    free(line);
}
