/* SPDX-License-Identifier: Apache-2.0
 *
 * shim_ranges.h - what a test asks of libranges_shim, by dlsym.
 */
#ifndef GROAT_SHIM_RANGES_H
#define GROAT_SHIM_RANGES_H

enum { SHIM_RANGES_TEXT = 8192 };

/* What has taken ranges so far: a line for each push and pop, "injected push
 * NAME", indented by the depth in its thread, which "thread N " goes before
 * where it is not the first one that was seen. */
typedef struct shim_ranges_control {
    char text[SHIM_RANGES_TEXT];
    int below;   /* pops of a thread that had no range */
    int refuse;  /* not 0: the tool does not attach */
    int attach;  /* how often it has */
    int partial; /* not 0: it takes no pops */
} shim_ranges_control;

typedef shim_ranges_control *shim_ranges_fn(void);

#endif
