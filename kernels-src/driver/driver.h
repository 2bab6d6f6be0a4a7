/* SPDX-License-Identifier: Apache-2.0
 *
 * driver.h - how a family's kernels get their input and are checked.
 *
 * A family that groat can run end to end has a driver: it lists the buffers and
 * launch arguments of an entry, makes realistic input, and computes the
 * expected output on the host.  Drivers of the library's families are in
 * kernels-src/<family>/host.c, which uses the public headers and the family's
 * args.h only; the tool makes those of other families from their run.def.
 */
#ifndef GROAT_KERNELS_DRIVER_H
#define GROAT_KERNELS_DRIVER_H

#include <stdbool.h>

#include "groat.h"

enum {
    GROAT_PLAN_BUFFERS = 16,
    GROAT_PLAN_ARGS_BYTES = 4096,
    GROAT_DRIVER_ARGS = 64,
    GROAT_RANK = 5 /* dimensions of a buffer */
};

/* The default of an argument that the driver derives from the spec.  Drivers of
 * the library use -1 instead if that is out of range. */
#define GROAT_ARG_UNSET INT64_MIN

typedef enum groat_arg_type { GROAT_ARG_INT, GROAT_ARG_FLOAT } groat_arg_type;

/* A run-time argument that the command line may set: "--valid-rows 33" or
 * "--arg valid_rows=33" for the name "valid_rows", which is the name of the
 * field of args.h. */
typedef struct groat_driver_arg {
    const char *name;
    groat_arg_type type;
    int64_t deflt; /* -1: the driver derives it from the spec; for a float,
                    * its bits                                               */
    int64_t min;   /* of an int */
    int64_t max;
    const char *unit;
    const char *meaning;
} groat_driver_arg;

/* Converts a float argument's value to an argument value, and back. */
int64_t groat_arg_of_real(double value);
double groat_arg_real(int64_t value);

/* The allowed difference between an output and the expected one. */
typedef enum groat_tolerance {
    GROAT_TOLERANCE_EXACT,
    GROAT_TOLERANCE_ULP,      /* units in the last place of its dtype     */
    GROAT_TOLERANCE_RELATIVE, /* a fraction of the larger of the expected
                               * number and the buffer's root mean square   */
    GROAT_TOLERANCE_NONE      /* no expectation: it is not compared       */
} groat_tolerance;

typedef struct groat_buffer {
    const char *name;
    size_t bytes;
    bool output;      /* poisoned before the run, compared after it */
    bool filled;      /* an output that is filled like an input, not poisoned */
    const char *file; /* has its content; NULL: fill() */
    const char *expected;                 /* has an output's; NULL: expect() */
    const struct groat__element *element; /* NULL: plain bytes             */
    size_t rank;
    int64_t shape[GROAT_RANK]; /* of elements */
    groat_tolerance tolerance; /* of elements */
    double allowed;
} groat_buffer;

/* Whether a launch reads the buffer: all but outputs that are not filled. */
bool groat_buffer_is_input(const groat_buffer *buffer);

typedef struct groat_driver groat_driver;

/* One run of one spec, ready to be launched. */
typedef struct groat_plan {
    const groat_driver *driver; /* set by the caller of plan() */
    groat_buffer buffers[GROAT_PLAN_BUFFERS];
    size_t buffer_count;
    unsigned grid[3];
    /* The structure of args.h, aligned as tensor maps require. */
    _Alignas(64) unsigned char args[GROAT_PLAN_ARGS_BYTES];
    size_t args_bytes;
    uint64_t moved_bytes; /* bytes of device memory a launch must move        */
    int64_t values[GROAT_DRIVER_ARGS]; /* run-time arguments, resolved        */
} groat_plan;

struct groat_driver {
    const char *family;
    const groat_driver_arg *args; /* ended by a NULL name */

    /* Resolves values (one per arg, deflt if the user set none) into buffers,
     * grid and moved_bytes.  Errors: INVALID. */
    groat_status (*plan)(const groat_spec *spec, const int64_t *values,
                         groat_plan *plan, groat_error *error);

    /* Fills input buffer `index` (host memory) from seed. */
    void (*fill)(const groat_spec *spec, const groat_plan *plan, size_t index,
                 uint64_t seed, void *data);

    /* Writes plan->args for buffers at these device addresses.  context is the
     * spec's, to make what a launch needs first, such as tensor maps.
     * Errors: those of making it. */
    groat_status (*bind)(groat_context *context, const groat_spec *spec,
                         groat_plan *plan, const uint64_t *addresses,
                         groat_error *error);

    /* Computes output buffer `index` from all host copies of the inputs
     * (inputs[i] is NULL for outputs). */
    groat_status (*expect)(const groat_spec *spec, const groat_plan *plan,
                           const void *const *inputs, size_t index, void *data,
                           groat_error *error);

    /* NULL if every output must be equal byte by byte.  Else writes, for output
     * buffer `index` of floats, the allowed error of each float, and returns
     * true; false means that this buffer must be equal. */
    bool (*bound)(const groat_spec *spec, const groat_plan *plan,
                  const void *const *inputs, size_t index, float *allowed);

    /* NULL if an input may be any bytes.  Else checks inputs that came from
     * files, before anything is computed from them: indices must be in range.
     * Errors: INVALID. */
    groat_status (*check)(const groat_spec *spec, const groat_plan *plan,
                          const void *const *inputs, groat_error *error);
};

/* All drivers, in the order of their families' names; ends with NULL.  list.sh
 * generates it from the folders that have a host.c, which defines
 * groat_driver_FAMILY. */
extern const groat_driver *const groat_drivers[];

/* Returns NULL if the family has no driver: it can be built, not run. */
const groat_driver *groat_driver_find(const char *family);

#endif
