/* SPDX-License-Identifier: Apache-2.0
 *
 * reads.c - picks the accesses that get a figure.
 *
 * Owns the choice: for each kind of access the wave with the worst conflicts,
 * and each of its patterns once.  Two accesses have the same pattern if only
 * their bases differ, by a whole number of dwords: that rotates the banks and
 * changes no conflict.
 * Copies are usually contiguous, and are shown only where they conflict; fills
 * are not shown at all.
 * Invariant: the figures of a kind are in descending order of their reuse.
 */
#include "cli/draw/draw.h"

#include <string.h>

enum { BANK = 4, KIND_FIGURES = GROAT__DRAW_KIND_FIGURES, PATTERNS = 64 };

static bool is_shown(const groat__step *step)
{
    return !step->fill &&
           (step->access != GROAT_ACCESS_COPY || step->reuse > 1);
}

static bool is_of(const groat__step *step, const groat__kind *kind)
{
    return step->access == kind->access && step->bytes == kind->bytes &&
           is_shown(step);
}

static unsigned first_lane(const groat__step *step)
{
    unsigned lane = 0;

    while (lane + 1 < GROAT__DRAW_LANES && !groat__step_has(step, lane))
        lane++;
    return lane;
}

static bool alike(const groat__step *a, const groat__step *b)
{
    unsigned first = first_lane(a);

    if (a->active != b->active ||
        a->shared[first] % BANK != b->shared[first] % BANK)
        return false;
    for (unsigned l = first; l < GROAT__DRAW_LANES; l++)
        if (groat__step_has(a, l) &&
            a->shared[l] - a->shared[first] != b->shared[l] - b->shared[first])
            return false;
    return true;
}

/* ---- conflicts --------------------------------------------------------- */

/* Returns whether a lane accesses a bank, and which dword of the bank. */
static bool wants(const groat__step *step, unsigned lane, unsigned banks,
                  unsigned bank, uint32_t *dword)
{
    uint32_t from = step->shared[lane] / BANK;
    uint32_t to = (step->shared[lane] + step->bytes - 1) / BANK;

    *dword = from + (bank + banks - from % banks) % banks;
    return groat__step_has(step, lane) && *dword <= to;
}

unsigned groat__step_load(const groat__step *step, unsigned banks,
                          unsigned first, unsigned bank)
{
    uint32_t seen[GROAT__DRAW_LANES];
    unsigned count = 0;
    uint32_t dword;

    for (unsigned l = first; l < first + step->together; l++) {
        unsigned i = 0;

        if (l >= GROAT__DRAW_LANES || !wants(step, l, banks, bank, &dword))
            continue;
        while (i < count && seen[i] != dword)
            i++;
        if (i == count)
            seen[count++] = dword;
    }
    return count;
}

uint64_t groat__step_conflicts(const groat__step *step,
                               const groat__record *record)
{
    uint64_t found = 0;
    uint32_t dword;

    for (unsigned first = 0; first < record->lanes; first += step->together)
        for (unsigned bank = 0; bank < record->banks; bank++) {
            if (groat__step_load(step, record->banks, first, bank) < 2)
                continue;
            for (unsigned l = first; l < first + step->together; l++)
                if (wants(step, l, record->banks, bank, &dword))
                    found |= (uint64_t)1 << l;
        }
    return found;
}

/* ---- the choice -------------------------------------------------------- */

static groat__kind *kind_of(groat__reads *reads, const groat__step *step)
{
    groat__kind *kind = reads->kinds;

    for (; kind < reads->kinds + reads->kind_count; kind++)
        if (kind->access == step->access && kind->bytes == step->bytes)
            return kind;
    if (reads->kind_count == GROAT__DRAW_KINDS) {
        reads->left_out++;
        return NULL;
    }
    reads->kind_count++;
    kind->access = step->access;
    kind->bytes = step->bytes;
    kind->wave = step->wave;
    return kind;
}

static bool comes_before(const groat__kind *a, const groat__kind *b)
{
    static const uint8_t order[GROAT__ACCESSES] = {[GROAT_ACCESS_COPY] = 0,
                                                   [GROAT_ACCESS_WRITE] = 1,
                                                   [GROAT_ACCESS_READ] = 2,
                                                   [GROAT_ACCESS_TRANSPOSE] =
                                                       3};

    if (a->access != b->access)
        return order[a->access] < order[b->access];
    return a->bytes > b->bytes;
}

/* Insertion sort, as there are few kinds. */
static void sort_kinds(groat__reads *reads)
{
    for (size_t i = 1; i < reads->kind_count; i++)
        for (size_t j = i;
             j && comes_before(&reads->kinds[j], &reads->kinds[j - 1]); j--) {
            groat__kind other = reads->kinds[j];

            reads->kinds[j] = reads->kinds[j - 1];
            reads->kinds[j - 1] = other;
        }
}

/* Finds the kinds, and for each the lowest wave with the worst conflict. */
static void find_kinds(groat__reads *reads, const groat__record *record)
{
    uint64_t waves[GROAT__DRAW_KINDS] = {0};

    for (size_t i = 0; i < record->count; i++) {
        const groat__step *step = &record->steps[i];
        groat__kind *kind = is_shown(step) ? kind_of(reads, step) : NULL;

        if (!kind)
            continue;
        if (step->reuse > kind->worst ||
            (step->reuse == kind->worst && step->wave < kind->wave)) {
            kind->worst = step->reuse;
            kind->wave = step->wave;
        }
        waves[kind - reads->kinds] |= (uint64_t)1 << step->wave;
    }
    for (size_t k = 0; k < reads->kind_count; k++)
        for (uint64_t left = waves[k]; left; left &= left - 1)
            reads->kinds[k].waves++;
    sort_kinds(reads);
}

/* Inserts a pattern in order; may drop the one with the least reuse. */
static void keep(groat__kind *kind, const groat__figure *figure,
                 const groat__record *record)
{
    size_t at = kind->figure_count;

    while (at && record->steps[kind->figures[at - 1].step].reuse <
                     record->steps[figure->step].reuse)
        at--;
    if (at == KIND_FIGURES)
        return;
    if (kind->figure_count < KIND_FIGURES)
        kind->figure_count++;
    memmove(&kind->figures[at + 1], &kind->figures[at],
            (kind->figure_count - 1 - at) * sizeof(kind->figures[0]));
    kind->figures[at] = *figure;
}

/* Returns the place of a new pattern: after the others or, if the table is
 * full, that of a pattern with less reuse; NULL if there is none. */
static groat__figure *place_for(groat__figure *all, size_t *count,
                                const groat__step *step,
                                const groat__record *record)
{
    groat__figure *least = all;

    if (*count < PATTERNS)
        return &all[(*count)++];
    for (size_t p = 1; p < PATTERNS; p++)
        if (record->steps[all[p].step].reuse < record->steps[least->step].reuse)
            least = &all[p];
    return record->steps[least->step].reuse < step->reuse ? least : NULL;
}

static void find_patterns(groat__kind *kind, const groat__record *record)
{
    groat__figure all[PATTERNS];
    groat__figure *figure;
    size_t count = 0;

    for (size_t i = 0; i < record->count; i++) {
        const groat__step *step = &record->steps[i];

        if (step->wave != kind->wave || !is_of(step, kind))
            continue;
        kind->instructions++;
        for (figure = all; figure < all + count; figure++)
            if (alike(&record->steps[figure->step], step))
                break;
        if (figure < all + count) {
            if (figure->alike < 3)
                figure->nearest[figure->alike] = step->shared[first_lane(step)];
            figure->alike++;
            continue;
        }
        kind->patterns++;
        figure = place_for(all, &count, step, record);
        if (figure)
            *figure = (groat__figure){
                .step = i, .conflicting = groat__step_conflicts(step, record)};
    }
    for (size_t p = 0; p < count; p++)
        keep(kind, &all[p], record);
}

void groat__reads_make(groat__reads *reads, const groat__record *record)
{
    size_t left = GROAT__DRAW_FIGURES;

    memset(reads, 0, sizeof(*reads));
    find_kinds(reads, record);
    for (size_t k = 0; k < reads->kind_count; k++) {
        groat__kind *kind = &reads->kinds[k];

        find_patterns(kind, record);
        if (kind->figure_count > left)
            kind->figure_count = left;
        left -= kind->figure_count;
    }
}
