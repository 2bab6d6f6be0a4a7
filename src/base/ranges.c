/* SPDX-License-Identifier: Apache-2.0
 *
 * ranges.c reports spans of time to a profiler: by NVTX 3, a header-only client
 * from NVIDIA, or by the program's own callbacks.
 */
#include "base/ranges.h"

#include <stdio.h>
#include <string.h>

#ifdef HAVE_NVTX_H
#include <nvtx3/nvToolsExt.h>
#endif

#include "base/error.h"

#ifdef HAVE_NVTX_H
static void push_nvtx(void *user, const char *name)
{
    (void)user;
    (void)nvtxRangePushA(name);
}

static void pop_nvtx(void *user)
{
    (void)user;
    (void)nvtxRangePop();
}

static groat_status use_nvtx(groat__ranges *out, groat_error *error)
{
    (void)error;
    *out = (groat__ranges){push_nvtx, pop_nvtx, NULL, "nvtx"};
    return GROAT_OK;
}
#else
static groat_status use_nvtx(groat__ranges *out, groat_error *error)
{
    (void)out;
    return groat__fail(error, GROAT_NO_DEVICE,
                       "this groat was built without nvtx3/nvToolsExt.h; "
                       "groat_options.range_push takes ranges without it");
}
#endif

groat_status groat__ranges_named(const char *name, groat__ranges *out,
                                 groat_error *error)
{
    *out = (groat__ranges){NULL, NULL, NULL, NULL};
    if (name == NULL || strcmp(name, "off") == 0)
        return GROAT_OK;
    if (strcmp(name, "nvtx") == 0)
        return use_nvtx(out, error);
    return groat__fail(error, GROAT_INVALID,
                       "ranges is '%.40s'; allowed: off, nvtx", name);
}

void groat__ranges_push(const groat__ranges *ranges, const char *what,
                        const char *name)
{
    char text[160];

    (void)snprintf(text, sizeof(text), "groat: %s%s%s", what,
                   name == NULL ? "" : " ", name == NULL ? "" : name);
    ranges->push(ranges->user, text);
}
