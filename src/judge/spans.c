/* SPDX-License-Identifier: Apache-2.0
 *
 * spans.c compares what the clusters of a launch did to device memory.
 */
#include "judge/spans.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

enum {
    SPANS_MAX = 1 << 20 /* of a launch */,
    SPANS_MIN = 8 /* of a cluster */
};

bool groat__spans_start(groat__spans *spans, uint64_t cluster,
                        uint64_t clusters)
{
    uint64_t most = SPANS_MAX / clusters;

    spans->most = spans->count + (size_t)(most < SPANS_MIN ? SPANS_MIN : most);
    return clusters > 1 && cluster < SPANS_MAX / SPANS_MIN;
}

/* Who made a span's access at an address, or the one after its last. */
static groat__span_use use_at(const groat__span *span,
                              const groat__span_use *use, uint64_t address)
{
    groat__span_use at = *use;

    at.fiber += (uint32_t)((address - span->start) / span->unit) * use->step;
    return at;
}

static bool goes_on(const groat__span *span, const groat__span_use *use,
                    const groat__span_use *next)
{
    return use->site == next->site &&
           (span->end - span->start == span->unit ||
            use_at(span, use, span->end).fiber == next->fiber);
}

/* Whether a new span of one access continues one. */
static bool is_continued(const groat__span *a, const groat__span *b)
{
    return a->end == b->start && a->cluster == b->cluster &&
           a->unit == b->unit && a->load == b->load && a->early == b->early &&
           a->late == b->late && a->plain == b->plain &&
           a->atomic == b->atomic && a->atomic_first == b->atomic_first &&
           a->changed == b->changed && goes_on(a, &a->first, &b->first) &&
           goes_on(a, &a->last, &b->last);
}

static bool add_value(groat__spans *spans, const void *value, size_t bytes)
{
    if (!groat__grow(&spans->values, spans->value_count + bytes,
                     &spans->value_cap, 1))
        return false;
    memcpy(spans->values + spans->value_count, value, bytes);
    spans->value_count += bytes;
    return true;
}

static bool add_span(groat__spans *spans, const groat__span *span)
{
    if (!groat__grow(&spans->items, spans->count + 1, &spans->cap,
                     sizeof(*spans->items)))
        return false;
    spans->items[spans->count++] = *span;
    return true;
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
    if (last->end - last->start == last->unit) {
        last->first.step = span->first.fiber - last->first.fiber;
        last->last.step = span->last.fiber - last->last.fiber;
    }
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

/* Whether what the earlier cluster did is over, by an atomic or volatile access
 * of each, before the later one begins. */
static bool is_ordered(const groat__span *earlier, const groat__span *later)
{
    return !earlier->late && !later->early;
}

/* Returns where two spans race that overlap in [start, end), or `end`. */
static uint64_t race_at(const groat__spans *spans, const groat__span *earlier,
                        const groat__span *later, uint64_t start, uint64_t end)
{
    const groat__span *stored = earlier->load ? later : earlier;
    bool ordered = is_ordered(earlier, later);

    if (earlier->load || later->load)
        return !ordered && stored->plain && stored->changed ? start : end;
    if (!earlier->plain && !later->plain)
        return end;
    /* What initializes an atomic variable has to come before its first use. */
    if (!later->plain)
        return earlier->late || later->atomic_first ? start : end;
    if (ordered)
        return end;
    return !earlier->plain || earlier->atomic || later->atomic
               ? start
               : first_difference(spans, earlier, later, start, end);
}

/* Whether the order of two spans that overlap decides what they read or leave:
 * atomic operations wait for their turn. */
static bool depends(const groat__span *earlier, const groat__span *later)
{
    bool atomic =
        !earlier->load && !earlier->plain && !later->load && !later->plain;

    return !atomic && !is_ordered(earlier, later);
}

static void compare(const groat__spans *spans, const groat__span *a,
                    const groat__span *b, groat__spans_found *found)
{
    const groat__span *earlier = a->cluster < b->cluster ? a : b;
    const groat__span *later = a->cluster < b->cluster ? b : a;
    uint64_t start = a->start > b->start ? a->start : b->start;
    uint64_t end = a->end < b->end ? a->end : b->end;

    found->order = found->order || depends(earlier, later);
    start = race_at(spans, earlier, later, start, end);
    if (start == end ||
        (found->race &&
         (later->cluster > found->later.cluster ||
          (later->cluster == found->later.cluster && start >= found->address))))
        return;
    *found =
        (groat__spans_found){true, true, *earlier, *later, .address = start};
}

/* Compares a span with those of the first `count` stores that reach it. */
static void compare_before(const groat__spans *spans, size_t count,
                           const groat__span *span, groat__spans_found *found)
{
    /* Many clusters may store the same value to one place. */
    enum { STEPS = 1 << 16, TRIES = 256 };
    size_t tries = 0;

    for (size_t i = count, steps = 0;
         i-- > 0 && spans->items[i].reach > span->start && tries < TRIES &&
         steps < STEPS;
         steps++) {
        const groat__span *store = &spans->items[i];

        if (store->cluster == span->cluster || store->end <= span->start ||
            store->start >= span->end)
            continue;
        tries += !span->load || store->changed;
        compare(spans, store, span, found);
    }
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

void groat__spans_compare(groat__spans *spans, groat__spans_found *found)
{
    size_t stores = 0;

    *found = (groat__spans_found){0};
    if (spans->count > 0)
        qsort(spans->items, spans->count, sizeof(*spans->items), by_place);
    for (; stores < spans->count && !spans->items[stores].load; stores++) {
        groat__span *span = &spans->items[stores];

        span->reach = span->end;
        if (stores > 0 && span[-1].reach > span->reach)
            span->reach = span[-1].reach;
        compare_before(spans, stores, span, found);
    }
    for (size_t i = stores; i < spans->count; i++)
        compare_before(spans, count_before(spans, stores, spans->items[i].end),
                       &spans->items[i], found);
    if (!found->race)
        return;
    found->before = use_at(&found->earlier,
                           found->earlier.late ? &found->earlier.last
                                               : &found->earlier.first,
                           found->address);
    found->after =
        use_at(&found->later,
               found->later.early ? &found->later.first : &found->later.last,
               found->address);
    found->address -= (found->address - found->later.start) % found->later.unit;
}
