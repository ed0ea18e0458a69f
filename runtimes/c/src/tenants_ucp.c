/* UCP: LRU in each tenant's part; how many misses each size would have saved decides the next split. */
#include <stdlib.h>
#include <string.h>

#include "tenants.h"

bool cz_ucp_new(cz_ucp *ucp, int32_t count, int32_t fragment, int64_t total, int64_t *resident) {
    size_t cells = (size_t)count * ((size_t)total + 1), pages = (size_t)total * (size_t)fragment;
    *ucp = (cz_ucp){.count = count, .fragment = fragment, .total = total, .resident = resident};
    ucp->queues = calloc((size_t)count, sizeof *ucp->queues);
    ucp->lists = calloc((size_t)count, sizeof *ucp->lists);
    ucp->split = calloc((size_t)count, sizeof *ucp->split);
    ucp->found = calloc(cells, sizeof *ucp->found);
    ucp->misses = calloc(cells, sizeof *ucp->misses);
    if (!ucp->queues || !ucp->lists || !ucp->split || !ucp->found || !ucp->misses)
        return false;
    for (int32_t a = 0; a < count; a++) {
        ucp->split[a] = total / count + (a < total % count);
        ucp->lists[a] = calloc(pages + CZ_FIRST_SLOT, sizeof **ucp->lists);
        if (!ucp->lists[a] || !cz_queue_new(&ucp->queues[a], CZ_QUEUE_LRU, (int64_t)pages))
            return false;
        cz_link_ends(ucp->lists[a]);
    }
    return true;
}

void cz_ucp_free(cz_ucp *ucp) {
    for (int32_t a = 0; a < ucp->count; a++) {
        if (ucp->queues)
            cz_queue_free(&ucp->queues[a]);
        if (ucp->lists)
            free(ucp->lists[a]);
    }
    free(ucp->queues);
    free(ucp->lists);
    free(ucp->split);
    free(ucp->found);
    free(ucp->misses);
}

static cz_tenant_page evict(cz_ucp *ucp, int32_t tenant) {
    int32_t page = cz_pop_tail(ucp->lists[tenant], 0) - CZ_FIRST_SLOT;
    ucp->resident[tenant]--;
    return (cz_tenant_page){.tenant = tenant, .key = ucp->queues[tenant].keyed.keys[page]};
}

/* A queue drops its last page for a new one. No part is as large as the cache, so that no list has that page. */
int cz_ucp_serve(cz_ucp *ucp, int32_t tenant, uint64_t key, cz_tenant_page *victim) {
    cz_queue *queue = &ucp->queues[tenant];
    int64_t position = cz_queue_reference(queue, key).position;
    int64_t size = position < 0 ? ucp->total : position / ucp->fragment;
    int32_t slot = cz_keyed_find(&queue->keyed, key) + CZ_FIRST_SLOT;
    bool hit = position >= 0 && position < ucp->resident[tenant];
    ucp->found[tenant * (ucp->total + 1) + size]++;
    *victim = (cz_tenant_page){.tenant = -1};
    if (hit)
        cz_unlink(ucp->lists[tenant], slot);
    else if (ucp->resident[tenant] == ucp->split[tenant] * ucp->fragment)
        *victim = evict(ucp, tenant);
    ucp->resident[tenant] += !hit;
    cz_link_head(ucp->lists[tenant], 0, slot);
    return hit ? CZ_HIT : CZ_ADMITTED;
}

/* ---- the end of a window ---- */

/* Misses with each size, from references by the least size that hits. */
static void add_misses(cz_ucp *ucp, int32_t tenant) {
    int64_t *found = ucp->found + tenant * (ucp->total + 1), *misses = ucp->misses + tenant * (ucp->total + 1);
    int64_t missed = 0;
    for (int64_t size = ucp->total; size >= 0; size--) {
        missed += found[size];
        misses[size] += missed;
        found[size] = 0;
    }
}

typedef struct steepest {
    int64_t saved, taken;
} steepest;

/* Misses saved, and fragments taken, where a tenant saves most a fragment; of equals the fewest fragments. */
static steepest look(const int64_t *misses, int64_t have, int64_t room) {
    steepest best = {0, 1};
    for (int64_t more = 1; more <= room; more++) {
        int64_t saved = misses[have] - misses[have + more];
        if (saved * best.taken > best.saved * more)
            best = (steepest){saved, more};
    }
    return best;
}

/* Algorithm 2 of the paper; what is left where nothing saves a miss any more is given out in turn. */
static void lookahead(cz_ucp *ucp) {
    int64_t room = ucp->total - ucp->count;
    steepest best[CZ_MOST_APPLICATIONS];
    for (int32_t a = 0; a < ucp->count; a++) {
        ucp->split[a] = 1;
        best[a] = (steepest){0, ucp->total + 1};
    }
    while (room > 0) {
        int32_t winner = 0;
        for (int32_t a = 0; a < ucp->count; a++) {
            if (best[a].taken > room)
                best[a] = look(ucp->misses + a * (ucp->total + 1), ucp->split[a], room);
            if (best[a].saved * best[winner].taken > best[winner].saved * best[a].taken)
                winner = a;
        }
        if (best[winner].saved == 0)
            break;
        ucp->split[winner] += best[winner].taken;
        room -= best[winner].taken;
        best[winner].taken = ucp->total + 1;
    }
    for (int64_t turn = 0; turn < room; turn++)
        ucp->split[turn % ucp->count]++;
}

int64_t cz_ucp_split(cz_ucp *ucp, cz_tenant_page *victims) {
    int64_t left = 0;
    for (int32_t a = 0; a < ucp->count; a++)
        add_misses(ucp, a);
    lookahead(ucp);
    for (int64_t k = 0; k < ucp->count * (ucp->total + 1); k++)
        ucp->misses[k] /= 2;
    for (int32_t a = 0; a < ucp->count; a++)
        while (ucp->resident[a] > ucp->split[a] * ucp->fragment)
            victims[left++] = evict(ucp, a);
    return left;
}

/* ---- saved: of each tenant fragments, resident pages, both histograms, and its queue ---- */

void cz_ucp_put(const cz_ucp *ucp, cz_writer *out) {
    for (int32_t a = 0; a < ucp->count; a++) {
        cz_put(out, (uint64_t)ucp->split[a], 8);
        cz_put(out, (uint64_t)ucp->resident[a], 8);
        for (int64_t k = a * (ucp->total + 1); k < (a + 1) * (ucp->total + 1); k++) {
            cz_put(out, (uint64_t)ucp->found[k], 8);
            cz_put(out, (uint64_t)ucp->misses[k], 8);
        }
        cz_queue_put(&ucp->queues[a], out);
    }
}

/* The cache holds a tenant's last pages, in their order. */
static void fill_list(cz_ucp *ucp, int32_t tenant, int64_t resident) {
    const cz_stack *stack = &ucp->queues[tenant].stacks[0];
    int64_t skipped = stack->live - resident;
    for (int32_t number = stack->least; number < stack->next; number++)
        if (!(stack->words[number >> 6] >> (number & 63) & 1) && skipped-- <= 0)
            cz_link_head(ucp->lists[tenant], 0, stack->pages[number] + CZ_FIRST_SLOT);
    ucp->resident[tenant] = resident;
}

#define MOST_COUNTED (INT64_C(1) << 41) /* references of a window, and as many of those before */

static bool take_counts(cz_ucp *ucp, int32_t tenant, int64_t *counted, cz_bytes *in) {
    int64_t least = MOST_COUNTED;
    for (int64_t k = tenant * (ucp->total + 1); k < (tenant + 1) * (ucp->total + 1); k++) {
        ucp->found[k] = (int64_t)cz_take(in, 8);
        ucp->misses[k] = (int64_t)cz_take(in, 8);
        if (in->failed || ucp->found[k] < 0 || ucp->found[k] > MOST_COUNTED || ucp->misses[k] < 0 ||
            ucp->misses[k] > least)
            return false;
        least = ucp->misses[k];
        *counted += ucp->found[k]; /* at most 2^31 cells of 2^41 */
    }
    return true;
}

bool cz_ucp_take(cz_ucp *ucp, int64_t since, cz_bytes *in) {
    int64_t total = 0, counted = 0;
    for (int32_t a = 0; a < ucp->count; a++) {
        ucp->split[a] = (int64_t)cz_take(in, 8);
        int64_t resident = (int64_t)cz_take(in, 8);
        if (in->failed || ucp->split[a] < 1 || ucp->split[a] > ucp->total || resident < 0 ||
            resident > ucp->split[a] * ucp->fragment || !take_counts(ucp, a, &counted, in) ||
            !cz_queue_take(&ucp->queues[a], in) || resident > ucp->queues[a].length)
            return false;
        fill_list(ucp, a, resident);
        total += ucp->split[a];
    }
    return total == ucp->total && counted == since;
}
