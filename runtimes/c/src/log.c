/* A log of requests as CSV with a header, as src/cachezoo/traces/formats/canonical.py reads it. The file holds whole
 * lines at all times: lines are written many at once, and what a full disk took of them is cut off again. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "names.h"

#define BUFFER (1 << 20)
#define NUMBERS 128 /* bytes of a line's numbers, commas and operation at most */

struct cz_logger {
    char *path, *buffer;
    size_t used;
    off_t written;    /* of whole lines */
    int file, failed; /* errno of the write that failed, or 0 */
    bool begun;       /* the header is there */
    bool has[CZ_COLUMNS];
    const cz_stream *names;
};

static const char *const HEADERS[CZ_COLUMNS] = {"volume", "namespace", "user", "flags"};

int cz_log_open(const char *path, cz_stream *names, cz_logger **logger, cz_error *error) {
    if (!logger)
        return cz_fail(error, CZ_BAD_CALL, "cz_log_open: no place for the log; pass one");
    *logger = NULL;
    if (!path || !names)
        return cz_fail(error, CZ_BAD_CALL, "cz_log_open: no path or no stream; pass both");
    cz_logger *made = calloc(1, sizeof *made);
    if (made) {
        made->file = -1;
        made->path = strdup(path);
        made->buffer = malloc(BUFFER);
    }
    int result = CZ_OK;
    if (!made || !made->path || !made->buffer)
        result = cz_fail(error, CZ_NO_MEMORY, "%s: no memory for a log", path);
    if (!result)
        made->file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (!result && made->file < 0)
        result = errno == EEXIST ? cz_fail(error, CZ_IO, "%s: exists already; give the log another name", path)
                                 : cz_fail(error, CZ_IO, "%s: cannot be written (%s)", path, strerror(errno));
    if (result) {
        if (made)
            free(made->path), free(made->buffer);
        free(made);
        return result;
    }
    made->names = names;
    *logger = made;
    return CZ_OK;
}

static int flush(cz_logger *logger) {
    for (size_t at = 0; !logger->failed && at < logger->used;) {
        ssize_t n = write(logger->file, logger->buffer + at, logger->used - at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            logger->failed = errno;
        else
            at += (size_t)n;
    }
    if (!logger->failed)
        logger->written += (off_t)logger->used;
    else if (ftruncate(logger->file, logger->written) != 0)
        return CZ_IO; /* as the write: `failed` says why */
    logger->used = 0;
    return logger->failed ? CZ_IO : CZ_OK;
}

/* ---- lines ---- */

static void put_text(cz_logger *logger, const char *text) {
    size_t length = strlen(text);
    memcpy(logger->buffer + logger->used, text, length);
    logger->used += length;
}

static void put_number(cz_logger *logger, int64_t value) {
    char digits[20];
    int n = 0;
    do
        digits[n++] = (char)('0' + value % 10);
    while ((value /= 10) > 0);
    while (n)
        logger->buffer[logger->used++] = digits[--n];
}

/* Line ends become blanks, and bytes of what is no UTF-8 question marks: no CSV holds them. Blanks around a name are
 * not read back. */
static void put_name(cz_logger *logger, const char *text) {
    bool utf8 = cz_is_utf8(text, strlen(text));
    bool quoted = strpbrk(text, ",\"") != NULL;
    char *to = logger->buffer + logger->used;
    if (quoted)
        *to++ = '"';
    for (; *text; text++) {
        if (*text == '"')
            *to++ = '"';
        *to++ = *text == '\r' || *text == '\n' ? ' ' : !utf8 && (signed char)*text < 0 ? '?' : *text;
    }
    if (quoted)
        *to++ = '"';
    logger->used = (size_t)(to - logger->buffer);
}

static void put_header(cz_logger *logger, const int32_t number[CZ_COLUMNS]) {
    put_text(logger, "time_us,op,offset,size");
    for (int c = 0; c < CZ_COLUMNS; c++) {
        logger->has[c] = c == CZ_VOLUME || number[c] >= 0;
        if (!logger->has[c])
            continue;
        put_text(logger, ",");
        put_text(logger, HEADERS[c]);
    }
    put_text(logger, "\n");
    logger->begun = true;
}

/* Texts of a request's names, NULL where it has none; false where a number is none of the stream. */
static bool texts_of(const cz_logger *logger, const int32_t number[CZ_COLUMNS], const char *text[CZ_COLUMNS]) {
    for (int c = 0; c < CZ_COLUMNS; c++) {
        text[c] = cz_names_text(logger->names->names, (enum cz_column)c, number[c]);
        bool may_lack = c != CZ_VOLUME && number[c] == CZ_UNKNOWN;
        if (!text[c] && !may_lack)
            return false;
        if (text[c] && logger->begun && !logger->has[c])
            return false;
    }
    if (!text[CZ_NAMESPACE])
        text[CZ_NAMESPACE] = text[CZ_VOLUME]; /* which stands for it */
    return true;
}

int cz_log(cz_logger *logger, const cz_request *request) {
    if (!logger || !request)
        return CZ_BAD_CALL;
    const int32_t number[CZ_COLUMNS] = {request->volume, request->name_space, request->user, request->flags};
    const char *text[CZ_COLUMNS];
    size_t most = NUMBERS;
    if (logger->failed)
        return CZ_IO;
    if (request->time_us < 0 || request->offset < 0 || request->size < 1 || request->op > CZ_WRITE ||
        !texts_of(logger, number, text))
        return CZ_BAD_CALL;
    for (int c = 0; c < CZ_COLUMNS; c++)
        most += text[c] ? 2 * strlen(text[c]) + 3 : 1;
    if (most > BUFFER)
        return CZ_BAD_CALL;
    if (most > BUFFER - logger->used && flush(logger))
        return CZ_IO;
    if (!logger->begun)
        put_header(logger, number);
    put_number(logger, request->time_us);
    put_text(logger, request->op == CZ_READ ? ",read," : ",write,");
    put_number(logger, request->offset);
    put_text(logger, ",");
    put_number(logger, request->size);
    for (int c = 0; c < CZ_COLUMNS; c++) {
        if (!logger->has[c])
            continue;
        put_text(logger, ",");
        if (text[c])
            put_name(logger, text[c]);
    }
    put_text(logger, "\n");
    return CZ_OK;
}

int cz_log_close(cz_logger *logger, cz_error *error) {
    if (!logger)
        return CZ_OK;
    const int32_t none[CZ_COLUMNS] = {0, CZ_UNKNOWN, CZ_UNKNOWN, CZ_UNKNOWN};
    if (!logger->begun && !logger->failed)
        put_header(logger, none);
    int result = flush(logger), failed = logger->failed;
    if (close(logger->file) != 0 && !failed)
        failed = errno;
    if (failed)
        result = cz_fail(error, CZ_IO, "%s: cannot be written (%s)", logger->path, strerror(failed));
    free(logger->path);
    free(logger->buffer);
    free(logger);
    return result;
}
