/* SPDX-License-Identifier: Apache-2.0
 *
 * opened.h - a rig with one context that is open during each test.
 */
#ifndef GROAT_TESTS_OPENED_H
#define GROAT_TESTS_OPENED_H

#include "rig.h"

static rig fix;
static groat_context *context;

static inline void open_rig(void)
{
    rig_make(&fix);
    rig_write_adder(&fix); /* a family path needs a family */
    context = rig_open(&fix);
}

static inline void close_rig(void)
{
    groat_close(context);
    rig_drop(&fix);
}

#endif
