/* SPDX-License-Identifier: Apache-2.0
 *
 * build.c - groat bench build: the compile time of a spec against that of a raw
 * compile of an empty kernel in the same run.
 *
 * Owns the contexts without a store, one per round, so that nothing is cached.
 */
#include <string.h>

#include "cli/bench/bench.h"
#include "kernels-src/driver/measured.h"

enum { ROUNDS = 9 };

static groat_status build_in(groat__bench *b, groat_context *context,
                             const char *text, double *ms)
{
    groat_kernel_info info = {.size = sizeof(info)};
    groat_spec *spec = NULL;
    groat_status status =
        groat_spec_parse(context, text, b->target, &spec, &b->error);

    if (status == GROAT_OK)
        status = groat_build(spec, NULL, NULL, &info, &b->error);
    *ms = info.compile_ms;
    groat_spec_free(spec);
    return status;
}

/* Compiles the spec in a new context without a store. */
static groat_status build_once(groat__bench *b, const char *text, double *ms)
{
    groat_options options = GROAT_OPTIONS_INIT;
    groat_context *context = NULL;
    groat_status status;

    options.flags = GROAT_OPEN_NO_DISK;
    options.family_path = b->cli->values.family_path;
    status = groat_open(&options, &context, &b->error);
    if (status == GROAT_OK)
        status = build_in(b, context, text, ms);
    groat_close(context);
    return status;
}

static groat_status build_one(groat__bench *b, const char *text)
{
    double raw[ROUNDS];
    double ours[ROUNDS];
    bool compared = true;
    /* Loads the compiler into the bench's own context, where it stays for the
     * raw calls to find.  No device is used. */
    groat_status status = build_in(b, b->context, text, &ours[0]);

    if (status != GROAT_OK)
        return status;
    groat__raw_open(b->backend, (int)b->cli->values.device, &b->raw);
    (void)groat__bench_compile_raw(b, ROUNDS);
    for (unsigned r = 0; r < ROUNDS && status == GROAT_OK; r++) {
        double start = groat__now_ms();

        compared = groat__bench_compile_raw(b, r) && compared;
        raw[r] = groat__now_ms() - start;
        status = build_once(b, text, &ours[r]);
    }
    if (status == GROAT_OK)
        groat__bench_say(b, text, "ms", groat__bench_median(ours, ROUNDS),
                         compared ? "raw compile, empty" : NULL,
                         groat__bench_median(raw, ROUNDS));
    groat__raw_close(&b->raw);
    return status;
}

groat_status groat__bench_build(groat__bench *b)
{
    groat_status status = GROAT_OK;
    bool named = false;

    for (size_t i = 0; i < b->cli->word_count && status == GROAT_OK; i++)
        if (groat__bench_is_spec(b->cli->words[i])) {
            named = true;
            status = build_one(b, b->cli->words[i]);
        }
    if (!named)
        status = build_one(b, groat_built_kernel);
    return status;
}
