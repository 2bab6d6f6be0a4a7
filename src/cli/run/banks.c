/* SPDX-License-Identifier: Apache-2.0
 *
 * banks.c - the bank report: passes over shared memory by kind of access.
 *
 * Owns the sums and their output.  The judge has the bank model and reports the
 * passes of each instruction; they are only added up here.
 * Invariant: each kind that was seen has its own row, so that many stores
 * without conflicts do not hide the conflicts of a read.
 */
#include "cli/run/banks.h"

#include <inttypes.h>

const char *groat__access_name(groat_access access)
{
    switch (access) {
    case GROAT_ACCESS_READ:
        return "read";
    case GROAT_ACCESS_WRITE:
        return "write";
    case GROAT_ACCESS_COPY:
        return "copy";
    case GROAT_ACCESS_TRANSPOSE:
        return "transpose read";
    case GROAT_ACCESS_ARRIVE:
        return "arrival";
    case GROAT_ACCESS_WAIT:
        return "wait";
    case GROAT_ACCESS_RESUME:
        return "resume";
    case GROAT_ACCESS_LAND:
        return "landing";
    case GROAT_ACCESS_LOAD:
        return "load";
    case GROAT_ACCESS_STORE:
        return "store";
    }
    return "?";
}

groat_access groat__access_at(size_t at)
{
    static const groat_access order[GROAT__ACCESSES] = {
        GROAT_ACCESS_COPY, GROAT_ACCESS_WRITE, GROAT_ACCESS_READ,
        GROAT_ACCESS_TRANSPOSE};

    return order[at];
}

static void add(groat__bank_sum *sum, const groat__bank_sum *more)
{
    sum->instructions += more->instructions;
    sum->passes += more->passes;
    sum->passes_min += more->passes_min;
    sum->reuse = more->reuse > sum->reuse ? more->reuse : sum->reuse;
    sum->together = more->together;
}

void groat__banks_add(groat__banks *banks, const groat_trace *event)
{
    const groat__bank_sum one = {1, event->passes, event->passes_min,
                                 event->reuse, event->together};

    if ((unsigned)event->access >= GROAT__ACCESSES ||
        event->bytes >= GROAT__ACCESS_BYTES)
        return;
    banks->banks = event->banks;
    add(&banks->sum[event->access][event->bytes], &one);
}

groat__bank_sum groat__banks_total(const groat__banks *banks)
{
    groat__bank_sum total = {0};

    for (size_t a = 0; a < GROAT__ACCESSES; a++)
        for (size_t bytes = 0; bytes < GROAT__ACCESS_BYTES; bytes++)
            add(&total, &banks->sum[a][bytes]);
    total.together = 0;
    return total;
}

double groat__bank_mean(const groat__bank_sum *sum)
{
    return sum->passes_min ? (double)sum->passes / (double)sum->passes_min : 1;
}

/* Adds the last cells of a row. */
static void add_cells(groat__table *table, const groat__bank_sum *sum)
{
    groat__table_add(table, "%" PRIu64, sum->instructions);
    if (sum->together)
        groat__table_add(table, "%u", sum->together);
    else
        groat__table_add(table, "%s", "");
    groat__table_add(table, "%" PRIu64, sum->passes);
    groat__table_add(table, "%" PRIu64, sum->passes_min);
    groat__table_add(table, "%u-way", sum->reuse);
    groat__table_add(table, "%.2f", groat__bank_mean(sum));
}

void groat__banks_print(const groat__banks *banks)
{
    static const char *const heads[] = {
        "            kind",  "instructions", "lanes at once", "passes",
        "without conflicts", "worst",        "mean"};
    groat__table table = {.columns = 7, .right = 0x7e};
    groat__bank_sum total = groat__banks_total(banks);

    if (!banks->banks) {
        (void)printf("  banks     the kernel touches no shared memory\n");
        return;
    }
    (void)printf("  banks     %u of 4 bytes; passes of waves over them:\n",
                 banks->banks);
    for (size_t i = 0; i < 7; i++)
        groat__table_add(&table, "%s", heads[i]);
    for (size_t at = 0; at < GROAT__ACCESSES; at++)
        for (unsigned bytes = 0; bytes < GROAT__ACCESS_BYTES; bytes++) {
            groat_access access = groat__access_at(at);
            const groat__bank_sum *sum = &banks->sum[access][bytes];

            if (!sum->instructions)
                continue;
            groat__table_add(&table, "            %s of %u B",
                             groat__access_name(access), bytes);
            add_cells(&table, sum);
        }
    groat__table_add(&table, "            all");
    add_cells(&table, &total);
    groat__table_print(&table);
}

static void sum_json(groat__json *json, const groat__bank_sum *sum)
{
    groat__json_uint(json, "instructions", sum->instructions);
    if (sum->together)
        groat__json_uint(json, "lanes_at_once", sum->together);
    groat__json_uint(json, "passes", sum->passes);
    groat__json_uint(json, "passes_min", sum->passes_min);
    groat__json_uint(json, "worst", sum->reuse);
    groat__json_real(json, "mean", groat__bank_mean(sum));
}

void groat__banks_json(groat__json *json, const groat__banks *banks)
{
    groat__bank_sum total;

    if (!banks) {
        groat__json_null(json, "banks");
        groat__json_null(json, "banks_total");
        return;
    }
    groat__json_array(json, "banks");
    for (size_t at = 0; at < GROAT__ACCESSES; at++)
        for (unsigned bytes = 0; bytes < GROAT__ACCESS_BYTES; bytes++) {
            groat_access access = groat__access_at(at);
            const groat__bank_sum *sum = &banks->sum[access][bytes];

            if (!sum->instructions)
                continue;
            groat__json_object(json, NULL);
            groat__json_string(json, "access", groat__access_name(access));
            groat__json_uint(json, "bytes", bytes);
            sum_json(json, sum);
            groat__json_end(json);
        }
    groat__json_end(json);
    total = groat__banks_total(banks);
    groat__json_object(json, "banks_total");
    groat__json_uint(json, "banks", banks->banks);
    sum_json(json, &total);
    groat__json_end(json);
}
