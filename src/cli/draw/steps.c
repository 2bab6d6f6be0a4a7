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

/* Bytes [from, to) of shared memory. */
typedef struct span {
    uint32_t from, to;
} span;

static int compare_spans(const void *a, const void *b)
{
    const span *x = a;
    const span *y = b;

    return (x->from > y->from) - (x->from < y->from);
}

/* Appends ,[from,to,...] of instructions [first, end), with adjacent spans
 * merged.  False: out of memory. */
static bool add_spans(groat__str *out, const groat__record *record,
                      size_t first, size_t end)
{
    span *spans =
        malloc(((end - first) * GROAT__DRAW_LANES + 1) * sizeof(*spans));
    size_t count = 0;
    const char *comma = "";

    if (!spans)
        return false;
    for (size_t i = first; i < end; i++)
        for (unsigned l = 0; l < record->lanes; l++)
            if (groat__step_has(&record->steps[i], l))
                spans[count++] =
                    (span){record->steps[i].shared[l],
                           record->steps[i].shared[l] + record->steps[i].bytes};
    qsort(spans, count, sizeof(*spans), compare_spans);
    groat__str_add(out, ",[");
    for (size_t i = 0; i < count;) {
        span all = spans[i++];

        while (i < count && spans[i].from <= all.to) {
            all.to = spans[i].to > all.to ? spans[i].to : all.to;
            i++;
        }
        groat__str_addf(out, "%s%" PRIu32 ",%" PRIu32, comma, all.from, all.to);
        comma = ",";
    }
    groat__str_add(out, "]");
    free(spans);
    return true;
}

/* Appends the input that the first lane of a copy reads, and its offset. */
static void add_source(groat__str *out, const groat__record *record,
                       const groat__subject *subject,
                       const groat__moment *moment)
{
    const groat__step *step = &record->steps[moment->step];
    uint64_t address = 0;

    for (unsigned l = 0; l < record->lanes && !address; l++)
        address = groat__step_has(step, l) ? step->asked[l] : 0;
    for (size_t i = 0; i < subject->buffer_count; i++)
        if (subject->buffers[i].name &&
            address - subject->buffers[i].address < subject->buffers[i].bytes) {
            groat__str_addf(out, ",%zu,%" PRIu64, i,
                            address - subject->buffers[i].address);
            return;
        }
    groat__str_add(out, ",-1,0");
}

static bool add_moment(groat__str *out, const groat__record *record,
                       const groat__subject *subject, size_t index)
{
    const groat__moment *moment = &record->moments[index];
    size_t end =
        index + 1 < record->moment_count ? moment[1].step : record->moment_end;
    bool accesses = end > moment->step;

    groat__str_addf(
        out, "%s\n[%d,%u,%d,%u,%u,%zu", index ? "," : "", (int)moment->access,
        moment->wave, (int)moment->mbarrier, moment->phase,
        accesses ? record->steps[moment->step].bytes : 0, end - moment->step);
    if (!add_spans(out, record, moment->step, end))
        return false;
    if (moment->access == GROAT_ACCESS_COPY && accesses)
        add_source(out, record, subject, moment);
    else
        groat__str_addf(out, ",-1,%d",
                        accesses && record->steps[moment->step].fill);
    groat__str_add(out, "]");
    return true;
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
                        subject->buffers[i].name ? subject->buffers[i].name
                                                 : "");
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
