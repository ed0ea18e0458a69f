/* Decimal numbers, read alike under every locale of the calling program. */
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

static const char *digits(const char *at) {
    while (*at >= '0' && *at <= '9')
        at++;
    return at;
}

/* End of a decimal number: [+-]digits[.digits][e[+-]digits], with a digit before or after the point. */
static const char *decimal_end(const char *text) {
    const char *at = text + (*text == '+' || *text == '-');
    const char *end = digits(at);
    bool any = end > at;
    if (*end == '.') {
        at = end + 1;
        end = digits(at);
        any = any || end > at;
    }
    if (!any)
        return NULL;
    if (*end == 'e' || *end == 'E') {
        at = end + 1 + (end[1] == '+' || end[1] == '-');
        const char *last = digits(at);
        if (last > at)
            end = last;
    }
    return end;
}

bool cz_decimal(const char *text, const char **end, double *found) {
    const char *last = decimal_end(text);
    if (!last)
        return false;
    /* glibc keeps the C locale ready: this allocates nothing. */
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!plain)
        return false;
    char *stopped;
    *found = strtod_l(text, &stopped, plain);
    freelocale(plain);
    *end = last;
    return stopped == last; /* not so of a hexadecimal number, which strtod reads */
}

bool cz_whole(const char *text, size_t length, int64_t *found) {
    bool minus = length > 0 && text[0] == '-';
    uint64_t value = 0, most = (uint64_t)INT64_MAX + minus;
    if (length == (size_t)minus)
        return false;
    for (size_t i = minus; i < length; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        uint64_t digit = (uint64_t)(text[i] - '0');
        if (value > (most - digit) / 10)
            return false;
        value = 10 * value + digit;
    }
    *found = minus ? (int64_t)(0 - value) : (int64_t)value;
    return true;
}
