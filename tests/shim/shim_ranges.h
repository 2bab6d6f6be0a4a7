/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GROAT_TESTS_SHIM_RANGES_H
#define GROAT_TESTS_SHIM_RANGES_H

#include "groat.h"

enum { SHIM_RANGES_TEXT = 4096 };

/* The ranges so far: a line for each push and pop, "push NAME", indented by the
 * depth in its thread, with "thread N " in front if it is not the first thread
 * that was seen. */
typedef struct shim_ranges_control {
    char text[SHIM_RANGES_TEXT];
    int below;  /* pops in a thread that had no range */
    int attach; /* how often NVTX has attached the tool */
    groat_range_push_fn *push;
    groat_range_pop_fn *pop;
} shim_ranges_control;

typedef shim_ranges_control *shim_ranges_fn(void);

#endif
