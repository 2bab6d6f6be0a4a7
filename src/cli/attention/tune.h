/* SPDX-License-Identifier: Apache-2.0
 *
 * tune.h - groat tune: which choice of a decode is the fastest on this device.
 */
#ifndef GROAT_CLI_TUNE_H
#define GROAT_CLI_TUNE_H

#include "cli/attention/attention.h"

/* What became of a choice. */
typedef enum groat__tuning_state {
    GROAT__TUNING_WAITING,
    GROAT__TUNING_TIMED,
    GROAT__TUNING_REFUSED, /* why says by what                     */
    GROAT__TUNING_WRONG,   /* its output is wrong                  */
    GROAT__TUNING_ENDED    /* its process hung or crashed, or a    *
                            * compiler or the driver failed         */
} groat__tuning_state;

enum { GROAT__TUNINGS = 56, GROAT__WHY_ROOM = 160, GROAT__CHOICE_ROOM = 128 };

typedef struct groat__tuning {
    groat_decode_choice choice; /* fields that are 0 are the library's */
    groat__tuning_state state;
    double us;
    char why[GROAT__WHY_ROOM];
} groat__tuning;

typedef struct groat__tunings {
    groat__tuning at[GROAT__TUNINGS];
    size_t count;
} groat__tunings;

/* Writes a choice as names and values of a SHAPE. */
void groat__tuning_text(const groat_decode_choice *choice,
                        char out[GROAT__CHOICE_ROOM]);

/* Fills the list with choices of warps, stages and split, and of clusters for
 * few strips; the first is the library's own. */
void groat__tunings_of_kernel(const groat_decode_choice *own, bool few,
                              groat__tunings *out);
/* Fills it with grids of a kernel: the first is the library's own choice. */
void groat__tunings_of_grid(const groat_decode_choice *best,
                            unsigned multiprocessors, groat__tunings *out);

/* Measures all that wait in processes of their own; one that hangs or crashes
 * is noted, and the others go on without it.  Errors: IO, NO_MEMORY.
 *
 * shape  the word without a choice
 * own    the library's choice, complete: one that a process can open */
groat_status groat__tunings_measure(groat__cli *cli, const char *shape,
                                    const groat_decode_choice *own,
                                    groat__tunings *tunings,
                                    groat_error *error);

#endif
