/* Errors are one line: a cause, the place, and a fix. */
#include <stdarg.h>
#include <stdio.h>

#include "internal.h"

/* Names of files and values come from bundles: what could break the line, or a terminal, becomes a question mark. */
static void one_line(char *text) {
    for (unsigned char *at = (unsigned char *)text; *at; at++)
        if (*at < 0x20 || *at == 0x7f)
            *at = '?';
}

int cz_fail(cz_error *error, int code, const char *format, ...) {
    if (!error)
        return code;
    va_list values;
    va_start(values, format);
    vsnprintf(error->text, sizeof error->text, format, values);
    va_end(values);
    one_line(error->text);
    error->code = code;
    return code;
}

int cz_refuse(const char *where, cz_error *error, const char *fix, const char *format, ...) {
    char problem[400];
    va_list values;
    va_start(values, format);
    vsnprintf(problem, sizeof problem, format, values);
    va_end(values);
    return cz_fail(error, CZ_BAD_BUNDLE, "%s: %s; %s", where, problem, fix);
}

const char *cz_version(void) {
    return CZ_VERSION;
}
