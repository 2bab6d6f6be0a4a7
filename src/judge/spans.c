/* SPDX-License-Identifier: Apache-2.0
 *
 * spans.c compares what the clusters of a launch did to device memory.
 */
#include "judge/spans.h"

#include <stdlib.h>
#include <string.h>

enum {
    SPANS_MAX = 1 << 21 /* of a launch */,
    SPANS_MIN = 8 /* of a cluster */
};

bool groat__spans_start(groat__spans *spans, uint64_t cluster,
                        uint64_t clusters)
{
    uint64_t most = SPANS_MAX / clusters;

    spans->most = spans->count + (size_t)(most < SPANS_MIN ? SPANS_MIN : most);
    return clusters > 1 && cluster < SPANS_MAX / SPANS_MIN;
}

/* The fiber of a span's access at an address, or of the one after its last. */
static uint32_t fiber_at(const groat__span *span, uint64_t address)
{
    return span->fiber +
           (uint32_t)((address - span->start) / span->unit) * span->step;
}

/* Whether a new span of one access continues one. */
static bool is_continued(const groat__span *a, const groat__span *b)
{
    bool single = a->end - a->start == a->unit;

    return a->end == b->start && a->cluster == b->cluster &&
           a->unit == b->unit && a->site == b->site && a->load == b->load &&
           a->early == b->early && a->late == b->late && a->first == b->first &&
           a->plain == b->plain && a->changed == b->changed &&
           a->unknown == b->unknown &&
           (single || fiber_at(a, a->end) == b->fiber);
}

static bool grow(void **items, size_t needed, size_t *cap, size_t bytes)
{
    enum { FIRST = 256 };
    size_t more = *cap == 0 ? FIRST : *cap;
    void *grown;

    while (more < needed)
        more *= 2;
    if (needed <= *cap)
        return true;
    grown = realloc(*items, more * bytes);
    if (grown == NULL)
        return false;
    *items = grown;
    *cap = more;
    return true;
}

static bool add_value(groat__spans *spans, const void *value, size_t bytes)
{
    void *values = spans->values;
    bool grown =
        grow(&values, spans->value_count + bytes, &spans->value_cap, 1);

    spans->values = values;
    if (!grown)
        return false;
    memcpy(spans->values + spans->value_count, value, bytes);
    spans->value_count += bytes;
    return true;
}

static bool add_span(groat__spans *spans, const groat__span *span)
{
    void *items = spans->items;
    bool grown =
        grow(&items, spans->count + 1, &spans->cap, sizeof(*spans->items));

    spans->items = items;
    if (grown)
        spans->items[spans->count++] = *span;
    return grown;
}

bool groat__spans_add(groat__spans *spans, const groat__span *span,
                      const void *value)
{
    groat__span *last =
        spans->count == 0 ? NULL : spans->items + spans->count - 1;
    bool continued = last != NULL && is_continued(last, span);
    groat__span new = *span;

    new.value = spans->value_count;
    if (!continued && spans->count == spans->most)
        return true;
    if (!span->load && !add_value(spans, value, span->end - span->start))
        return false;
    if (!continued)
        return add_span(spans, &new);
    if (last->end - last->start == last->unit)
        last->step = span->fiber - last->fiber;
    last->end = span->end;
    return true;
}

bool groat__spans_join(groat__spans *spans, groat__spans *from)
{
    size_t base = spans->value_count;
    bool joined = from->value_count == 0 ||
                  add_value(spans, from->values, from->value_count);

    for (size_t i = 0; joined && i < from->count; i++) {
        from->items[i].value += base;
        joined = add_span(spans, &from->items[i]);
    }
    return joined;
}

void groat__spans_drop(groat__spans *spans)
{
    free(spans->items);
    free(spans->values);
    *spans = (groat__spans){0};
}

/* ---- races --------------------------------------------------------------- */

/* The race found so far. */
typedef struct race {
    const groat__span *earlier; /* NULL: none */
    const groat__span *later;
    uint64_t address;
} race;

/* Stores first, by their start; then loads. */
static int by_place(const void *a, const void *b)
{
    const groat__span *x = a;
    const groat__span *y = b;

    if (x->load != y->load)
        return x->load - y->load;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return x->cluster < y->cluster ? -1 : x->cluster > y->cluster;
}

/* Returns the first address where two stores left different bytes, or `end`. */
static uint64_t first_difference(const groat__spans *spans,
                                 const groat__span *a, const groat__span *b,
                                 uint64_t start, uint64_t end)
{
    while (start < end && spans->values[a->value + (start - a->start)] ==
                              spans->values[b->value + (start - b->start)])
        start++;
    return start;
}

/* Returns where two spans race that overlap in [start, end), or `end`. */
static uint64_t race_at(const groat__spans *spans, const groat__span *earlier,
                        const groat__span *later, uint64_t start, uint64_t end)
{
    const groat__span *stored = earlier->load ? later : earlier;
    bool ordered = !earlier->late && !later->early;

    if (earlier->load || later->load)
        return !ordered && stored->plain && stored->changed ? start : end;
    if (!earlier->plain && !later->plain)
        return end;
    /* What initializes an atomic variable has to come before its first use. */
    if (!later->plain)
        return earlier->late || later->first ? start : end;
    if (ordered || !earlier->plain)
        return ordered ? end : start;
    return earlier->unknown || later->unknown
               ? start
               : first_difference(spans, earlier, later, start, end);
}

static void compare(const groat__spans *spans, const groat__span *a,
                    const groat__span *b, race *found)
{
    const groat__span *earlier = a->cluster < b->cluster ? a : b;
    const groat__span *later = a->cluster < b->cluster ? b : a;
    uint64_t start = a->start > b->start ? a->start : b->start;
    uint64_t end = a->end < b->end ? a->end : b->end;

    if (start >= end || a->cluster == b->cluster)
        return;
    start = race_at(spans, earlier, later, start, end);
    if (start == end)
        return;
    if (found->earlier != NULL &&
        (later->cluster > found->later->cluster ||
         (later->cluster == found->later->cluster && start >= found->address)))
        return;
    *found = (race){earlier, later, start};
}

/* Compares a span with those of the first `count` stores that reach it. */
static void compare_before(const groat__spans *spans, size_t count,
                           const groat__span *span, race *found)
{
    enum { TRIES = 256 }; /* many clusters may store the same value */

    for (size_t i = count, tries = 0;
         i-- > 0 && spans->items[i].reach > span->start && tries < TRIES;
         tries++)
        compare(spans, &spans->items[i], span, found);
}

/* Returns how many of the stores start before an address. */
static size_t count_before(const groat__spans *spans, size_t stores,
                           uint64_t address)
{
    size_t low = 0;

    while (low < stores) {
        size_t middle = low + (stores - low) / 2;

        if (spans->items[middle].start < address)
            low = middle + 1;
        else
            stores = middle;
    }
    return low;
}

bool groat__spans_race(groat__spans *spans, groat__span *earlier,
                       groat__span *later, uint64_t *address)
{
    race found = {0};
    size_t stores = 0;

    if (spans->count > 0)
        qsort(spans->items, spans->count, sizeof(*spans->items), by_place);
    for (; stores < spans->count && !spans->items[stores].load; stores++) {
        groat__span *span = &spans->items[stores];

        span->reach = span->end;
        if (stores > 0 && span[-1].reach > span->reach)
            span->reach = span[-1].reach;
        compare_before(spans, stores, span, &found);
    }
    for (size_t i = stores; i < spans->count; i++)
        compare_before(spans, count_before(spans, stores, spans->items[i].end),
                       &spans->items[i], &found);
    if (found.earlier == NULL)
        return false;
    *earlier = *found.earlier;
    *later = *found.later;
    *address = found.address;
    earlier->fiber = fiber_at(earlier, found.address);
    later->fiber = fiber_at(later, found.address);
    return true;
}
