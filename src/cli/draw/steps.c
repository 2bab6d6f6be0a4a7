/* SPDX-License-Identifier: Apache-2.0
 *
 * steps.c - an HTML page with a slider that steps through the accesses of block
 * 0, and the whole picture below it.
 *
 * Owns the data of the page; steps.html, which the build embeds, displays it
 * and loads nothing from elsewhere.
 * Invariant: no name of a spec or a family can end the script.
 */
#include "cli/draw/draw.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Bytes [from, to) of shared memory or, with its number, of a buffer. */
typedef struct span {
    size_t buffer;
    uint64_t from, to;
} span;

typedef struct spans {
    span *at;
    size_t count;
} spans;

static int compare_spans(const void *a, const void *b)
{
    const span *x = a;
    const span *y = b;

    if (x->buffer != y->buffer)
        return (x->buffer > y->buffer) - (x->buffer < y->buffer);
    return (x->from > y->from) - (x->from < y->from);
}

/* Makes room for the lanes of some instructions.  False: out of memory. */
static bool make_spans(spans *s, size_t instructions)
{
    s->count = 0;
    s->at = malloc((instructions * GROAT__DRAW_LANES + 1) * sizeof(*s->at));
    return s->at != NULL;
}

/* Merges adjacent spans. */
static void merge_spans(spans *s)
{
    size_t merged = 0;

    qsort(s->at, s->count, sizeof(*s->at), compare_spans);
    for (size_t i = 0; i < s->count; i++) {
        span *last = merged ? &s->at[merged - 1] : NULL;

        if (!last || last->buffer != s->at[i].buffer ||
            last->to < s->at[i].from)
            s->at[merged++] = s->at[i];
        else if (last->to < s->at[i].to)
            last->to = s->at[i].to;
    }
    s->count = merged;
}

/* Appends ,[from,to,...] of instructions [first, end).  False: out of memory.
 */
static bool add_spans(groat__str *out, const groat__record *record,
                      size_t first, size_t end)
{
    spans all;

    if (!make_spans(&all, end - first))
        return false;
    for (size_t i = first; i < end; i++)
        for (unsigned l = 0; l < record->lanes; l++)
            if (groat__step_has(&record->steps[i], l))
                all.at[all.count++] =
                    (span){0, record->steps[i].shared[l],
                           record->steps[i].shared[l] + record->steps[i].bytes};
    merge_spans(&all);
    groat__str_add(out, ",[");
    for (size_t i = 0; i < all.count; i++)
        groat__str_addf(out, "%s%" PRIu64 ",%" PRIu64, i ? "," : "",
                        all.at[i].from, all.at[i].to);
    groat__str_add(out, "]");
    free(all.at);
    return true;
}

/* Appends ,[[buffer,from,to,...],...] of LOADs or STOREs [first, end); the
 * bytes of no buffer are addresses.  False: out of memory. */
static bool add_touches(groat__str *out, const groat__record *record,
                        const groat__subject *subject, size_t first, size_t end)
{
    spans all;

    if (!make_spans(&all, end - first))
        return false;
    for (size_t i = first; i < end; i++) {
        const groat__touch *touch = &record->touches[i];

        for (unsigned l = 0; l < record->lanes; l++) {
            uint64_t from = 0;
            size_t buffer = groat__subject_buffer(subject, touch->at[l], &from);

            if ((touch->active >> l & 1) == 0)
                continue;
            if (buffer == SIZE_MAX) {
                buffer = subject->buffer_count;
                from = touch->at[l];
            }
            all.at[all.count++] = (span){buffer, from, from + touch->bytes};
        }
    }
    merge_spans(&all);
    groat__str_add(out, ",[");
    for (size_t i = 0; i < all.count; i++) {
        bool same = i > 0 && all.at[i].buffer == all.at[i - 1].buffer;

        if (!same)
            groat__str_addf(out, "%s[%zu", i ? "]," : "", all.at[i].buffer);
        groat__str_addf(out, ",%" PRIu64 ",%" PRIu64, all.at[i].from,
                        all.at[i].to);
    }
    groat__str_add(out, all.count ? "]]" : "]");
    free(all.at);
    return true;
}

/* The input that the first lane of a copy reads, and its offset: [-1,0] for no
 * input, [-2,0] if the copy brings zeros. */
static void find_source(const groat__record *record,
                        const groat__subject *subject, const groat__step *step,
                        int *buffer, uint64_t *offset)
{
    uint64_t address = 0;
    size_t found;

    for (unsigned l = 0; l < record->lanes && !address; l++)
        if (groat__step_has(step, l) && (step->zeros >> l & 1) == 0)
            address = step->asked[l];
    *offset = 0;
    found = groat__subject_input(subject, address, offset);
    *buffer = found != SIZE_MAX ? (int)found : address ? -1 : -2;
}

/* Appends ,[[buffer,from],...] of copies [first, end): each buffer once. */
static void add_sources(groat__str *out, const groat__record *record,
                        const groat__subject *subject, size_t first, size_t end)
{
    uint32_t told = 0; /* bit per buffer + 2 */

    groat__str_add(out, ",[");
    for (size_t i = first; i < end; i++) {
        uint64_t offset;
        int buffer;

        find_source(record, subject, &record->steps[i], &buffer, &offset);
        if ((told >> (buffer + 2) & 1) != 0)
            continue;
        groat__str_addf(out, "%s[%d,%" PRIu64 "]", told ? "," : "", buffer,
                        offset);
        told |= (uint32_t)1 << (buffer + 2);
    }
    groat__str_add(out, "],0");
}

/* Appends ,[[from,to,...],...] of copies [first, end), a list for each, as they
 * land one by one.  False: out of memory. */
static bool add_parts(groat__str *out, const groat__record *record,
                      size_t first, size_t end)
{
    bool whole = true;

    groat__str_add(out, ",[[]");
    for (size_t i = first; i < end && whole; i++)
        whole = add_spans(out, record, i, i + 1);
    groat__str_add(out, "]");
    return whole;
}

static bool add_moment(groat__str *out, const groat__record *record,
                       const groat__subject *subject, size_t index)
{
    const groat__moment *moment = &record->moments[index];
    bool last = index + 1 == record->moment_count;
    size_t end = groat__record_end(record, index);
    size_t touch_end = last ? record->touch_count : moment[1].touch;
    bool accesses = end > moment->step;
    bool whole;

    groat__str_addf(out, "%s\n[%d,%u,%d,%u,%u,%zu", index ? "," : "",
                    (int)moment->access, moment->wave, (int)moment->mbarrier,
                    moment->phase, moment->bytes,
                    moment->access == GROAT_ACCESS_ARRIVE
                        ? moment->lanes
                        : end - moment->step + touch_end - moment->touch);
    whole = add_spans(out, record, moment->step, end);
    if (moment->access == GROAT_ACCESS_COPY && accesses) {
        add_sources(out, record, subject, moment->step, end);
        whole = whole && add_parts(out, record, moment->step, end);
    } else {
        groat__str_addf(out, ",[],%d",
                        accesses && record->steps[moment->step].fill);
    }
    if (touch_end > moment->touch)
        whole = whole &&
                add_touches(out, record, subject, moment->touch, touch_end);
    groat__str_add(out, "]");
    return whole;
}

static bool add_data(groat__str *out, const groat__record *record,
                     const groat__subject *subject)
{
    bool whole = true;

    groat__str_addf(
        out, "{\"shared\":%u,\"waves\":%u,\"more\":%" PRIu64 ",\"buffers\":[",
        subject->shared_bytes, record->waves, record->left_out);
    for (size_t i = 0; i < subject->buffer_count; i++)
        groat__str_addf(out, "%s\"%s\"", i ? "," : "",
                        subject->buffers[i].name);
    groat__str_add(out, "],\"steps\":[");
    for (size_t i = 0; i < record->moment_count && whole; i++)
        whole = add_moment(out, record, subject, i);
    groat__str_add(out, "]}");
    return whole;
}

bool groat__draw_steps(const groat__record *record,
                       const groat__subject *subject, const groat__str *svg,
                       groat__str *html)
{
    const char *at = (const char *)groat__steps_html;
    const char *picture = svg->data ? strstr(svg->data, "<svg") : NULL;
    bool whole = picture != NULL;

    while (whole) {
        const char *mark = strchr(at, '@');
        size_t word = mark ? strspn(mark + 1, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") : 0;

        groat__str_addn(html, at, mark ? (size_t)(mark - at) : strlen(at));
        if (!mark)
            break;
        at = mark + word + 2;
        if (strncmp(mark, "@DATA@", 6) == 0)
            whole = add_data(html, record, subject);
        else if (strncmp(mark, "@PICTURE@", 9) == 0)
            groat__str_add(html, picture);
        else if (strncmp(mark, "@SPEC@", 6) == 0)
            groat__escape(html, subject->spec);
        else if (strncmp(mark, "@NOTE@", 6) == 0)
            groat__escape(html, subject->note ? subject->note : "");
        else if (strncmp(mark, "@TITLE@", 7) == 0)
            groat__draw_title(subject, html);
        else
            groat__str_addn(html, mark, (size_t)(at - mark));
    }
    return whole && !html->failed;
}
