/* SPDX-License-Identifier: Apache-2.0
 *
 * report.c - the JSON of a trial, and the facts about a binary.
 *
 * Owns the names of the members; docs and tests rely on them, so they may be
 * added but never renamed while "format" is 1.
 * Invariant: every run has every member; an unknown value is null.  In text,
 * unknown values are left out.
 */
#include "cli/run/places.h"
#include "cli/run/trial.h"

#include <inttypes.h>

static void known_int(groat__json *json, const char *name, int64_t value)
{
    if (value < 0)
        groat__json_null(json, name);
    else
        groat__json_int(json, name, value);
}

void groat__facts_json(groat__json *json, const groat_facts *facts)
{
    groat__json_object(json, "facts");
    known_int(json, "registers", facts->registers);
    known_int(json, "sgprs", facts->sgprs);
    known_int(json, "spill_bytes", facts->spill_bytes);
    known_int(json, "shared_bytes", facts->shared_bytes);
    known_int(json, "code_bytes", facts->code_bytes);
    known_int(json, "max_threads", facts->max_threads);
    groat__json_end(json);
}

void groat__facts_print(const char *lead, const groat_facts *facts)
{
    const struct {
        int64_t value;
        const char *unit;
    } rows[] = {
        {facts->registers, "registers"},
        {facts->sgprs, "scalar registers"},
        {facts->spill_bytes, "B spilled"},
        {facts->shared_bytes, "B of shared memory"},
        {facts->code_bytes, "B of code"},
        {facts->max_threads, "threads at most"},
    };
    const char *before = lead;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (rows[i].value < 0)
            continue;
        (void)printf("%s%" PRId64 " %s", before, rows[i].value, rows[i].unit);
        before = ", ";
    }
    if (before != lead)
        (void)fputc('\n', stdout);
}

double groat__trial_gb_per_s(const groat__trial *trial)
{
    if (trial->launch_us <= 0)
        return 0;
    return (double)trial->plan.moved_bytes / trial->launch_us * 1e-3;
}

static void kernel_json(groat__json *json, const groat__trial *trial)
{
    const groat_kernel_info *info = &trial->info;

    groat__json_string(json, "key", info->key);
    groat__json_string(json, "name", info->name);
    groat__json_string(json, "origin", groat_origin_name(trial->origin));
    groat__json_real(json, "compile_ms", info->compile_ms);
    groat__json_real(json, "load_ms", info->load_ms);
    groat__json_real(json, "get_ms", trial->get_ms);
    groat__json_array(json, "block");
    for (size_t i = 0; i < 3; i++)
        groat__json_uint(json, NULL, info->block[i]);
    groat__json_end(json);
    groat__json_uint(json, "shared_bytes", info->shared_bytes);
    groat__json_string(json, "maker", info->maker);
    groat__json_string(json, "log", info->log);
    groat__facts_json(json, &info->facts);
}

static void kernel_json_unknown(groat__json *json)
{
    static const char *const names[] = {
        "key",   "name",         "origin", "compile_ms", "load_ms", "get_ms",
        "block", "shared_bytes", "maker",  "log",        "facts",
    };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        groat__json_null(json, names[i]);
}

static void mismatch_json(groat__json *json, const groat__comparison *sum)
{
    char place[160];

    groat__compare_place(sum->first, sum->first_offset, place, sizeof(place));
    groat__json_object(json, "first_mismatch");
    groat__json_string(json, "buffer", sum->first->name);
    groat__json_string(json, "place", place);
    groat__json_uint(json, "offset", sum->first_offset);
    groat__json_string(json, "expected", sum->first_want);
    groat__json_string(json, "got", sum->first_have);
    groat__json_bool(json, "unwritten", sum->first_unwritten);
    groat__json_end(json);
}

static void launch_json(groat__json *json, const groat__trial *trial)
{
    groat__json_real(json, "launch_us", trial->launch_us);
    groat__json_string(json, "clock", trial->device_clock ? "device" : "host");
    groat__json_uint(json, "mismatches", trial->sum.mismatches);
    if (trial->sum.mismatches)
        mismatch_json(json, &trial->sum);
    else
        groat__json_null(json, "first_mismatch");
    if (trial->sum.norm_of)
        groat__json_real(json, "norm", trial->sum.norm);
    else
        groat__json_null(json, "norm");
    if (trial->sum.has_ulps && trial->sum.ulps < UINT64_MAX)
        groat__json_uint(json, "ulps", trial->sum.ulps);
    else
        groat__json_null(json, "ulps");
    groat__json_uint(json, "bytes", trial->sum.bytes);
    groat__json_uint(json, "moved_bytes", trial->plan.moved_bytes);
    groat__json_real(json, "gb_per_s", groat__trial_gb_per_s(trial));
}

static void launch_json_unknown(groat__json *json)
{
    static const char *const names[] = {
        "launch_us", "clock", "mismatches",  "first_mismatch", "norm",
        "ulps",      "bytes", "moved_bytes", "gb_per_s",
    };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        groat__json_null(json, names[i]);
}

void groat__trial_json(groat__json *json, const groat__trial *trial,
                       const groat_error *error)
{
    groat__json_string(json, "spec", groat_spec_text(trial->spec));
    groat__json_string(json, "target", groat_spec_target(trial->spec));
    if (trial->made)
        kernel_json(json, trial);
    else
        kernel_json_unknown(json);
    if (trial->launch_us > 0)
        launch_json(json, trial);
    else
        launch_json_unknown(json);
    if (trial->verdict == GROAT__UNKNOWN)
        groat__json_null(json, "verified");
    else
        groat__json_bool(json, "verified", trial->verdict == GROAT__RIGHT);
    groat__json_array(json, "not_compared");
    for (size_t i = 0; i < trial->plan.buffer_count; i++)
        if (trial->unknown[i])
            groat__json_string(json, NULL, trial->plan.buffers[i].name);
    groat__json_end(json);
    /* The counts of a launch that was stopped are incomplete. */
    groat__banks_json(json, trial->launch_us > 0 ? trial->banks : NULL);
    groat__places_json(json, trial, error);
}
