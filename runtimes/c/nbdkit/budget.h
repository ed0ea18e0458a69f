/* What may be written to the SSD: bytes a second, over the last BUDGET_S seconds. */
#ifndef CZ_BUDGET_H
#define CZ_BUDGET_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define BUDGET_S 10 /* the budget holds over this many seconds */
#define BUDGET_KEPT 64

typedef struct budget {
    uint64_t rate;                 /* bytes a second; 0: no budget */
    uint64_t second;               /* that was written in last */
    uint64_t written[BUDGET_KEPT]; /* in each second, by its number modulo BUDGET_KEPT */
} budget;

static inline void budget_move(budget *budget, uint64_t second) {
    if (second >= budget->second + BUDGET_KEPT)
        memset(budget->written, 0, sizeof budget->written);
    else
        for (uint64_t next = budget->second + 1; next <= second; next++)
            budget->written[next % BUDGET_KEPT] = 0;
    budget->second = second > budget->second ? second : budget->second;
}

/* Bytes written in the last so many seconds, the one under way included. */
static inline uint64_t budget_written(budget *budget, uint64_t now_ns, uint64_t seconds) {
    uint64_t bytes = 0;
    budget_move(budget, now_ns / UINT64_C(1000000000));
    for (uint64_t back = 0; back < seconds && back < BUDGET_KEPT && back <= budget->second; back++)
        bytes += budget->written[(budget->second - back) % BUDGET_KEPT];
    return bytes;
}

/* Whether so much may be written now; then it counts as written. */
static inline bool budget_take(budget *budget, uint64_t now_ns, uint64_t bytes) {
    if (budget->rate && budget_written(budget, now_ns, BUDGET_S) + bytes > budget->rate * BUDGET_S)
        return false;
    budget_move(budget, now_ns / UINT64_C(1000000000));
    budget->written[budget->second % BUDGET_KEPT] += bytes;
    return true;
}

#endif
