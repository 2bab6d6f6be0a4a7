/* SPDX-License-Identifier: Apache-2.0
 *
 * bank_rig.h - runs the family bank_probe with a trace callback.
 */
#ifndef GROAT_TEST_CLI_BANK_RIG_H
#define GROAT_TEST_CLI_BANK_RIG_H

#include "tests/pipe/rig.h"

#include "tests/unit/cli/bank_probe/args.h"

enum { BANK_RIG_SHARED = 16640, BANK_RIG_TILE = 16384 };

/* A run of the probe: its target, arguments and trace. */
typedef struct bank_run {
    const char *target;
    unsigned waves;
    struct bank_probe_args args; /* source is filled in */
    groat_trace_fn *trace;
    void *user;
} bank_run;

static inline void bank_launch(rig *r, bank_run *run)
{
    groat_options options = rig_options(r);
    groat_launch launch = GROAT_LAUNCH_INIT;
    const char *top = getenv("top_srcdir");
    static unsigned char tile[BANK_RIG_TILE];
    groat_context *context;
    groat_kernel *kernel;
    char path[1024], spec[64];

    ck_assert_msg(top != NULL, "top_srcdir must name the source folder");
    (void)snprintf(path, sizeof(path), "%s/tests/unit/cli/bank_probe", top);
    options.family_path = path;
    options.trace = run->trace;
    options.trace_user = run->user;
    context = rig_open_with(r, &options);
    (void)snprintf(spec, sizeof(spec), "bank_probe:waves=%u", run->waves);
    ck_assert_msg(groat_kernel_get(context, spec, run->target, &kernel, NULL,
                                   &r->error) == GROAT_OK,
                  "%s %s", r->error.text,
                  r->error.log == NULL ? "" : r->error.log);
    run->args.source = rig_upload(context, run->target, tile, sizeof(tile));
    ck_assert_msg(groat_kernel_launch(kernel, &launch, &run->args,
                                      sizeof(run->args), &r->error) == GROAT_OK,
                  "%s", r->error.text);
    groat_memory_free(context, run->target, run->args.source);
    groat_kernel_release(kernel);
    groat_close(context);
}

#endif
