/* SPDX-License-Identifier: Apache-2.0
 *
 * driver.h - how a family is fed and checked.
 *
 * A family that groat can run end to end has a driver in
 * kernels-src/<family>/host.c: it says which buffers and launch arguments the
 * entry wants, makes real-shaped input, and computes the expected output on
 * the host.  It uses the public headers and the family's args.h only.
 */
#ifndef GROAT_KERNELS_DRIVER_H
#define GROAT_KERNELS_DRIVER_H

#include <stdbool.h>

#include "groat.h"

enum {
    GROAT_PLAN_BUFFERS = 8,
    GROAT_PLAN_ARGS_BYTES = 512,
    GROAT_DRIVER_ARGS = 24
};

/* One run-time argument that the command line may set: "--valid-rows 33" for
 * the name "valid_rows".  The name is that of the field of args.h. */
typedef struct groat_driver_arg {
    const char *name;
    int64_t deflt; /* -1: the driver derives it from the spec */
    int64_t min;
    int64_t max;
    const char *unit;
    const char *meaning;
} groat_driver_arg;

typedef struct groat_buffer {
    const char *name;
    size_t bytes;
    bool output; /* poisoned before the run, compared after it */
} groat_buffer;

/* One run of one spec, ready to be launched. */
typedef struct groat_plan {
    groat_buffer buffers[GROAT_PLAN_BUFFERS];
    size_t buffer_count;
    unsigned grid[3];
    /* The structure of args.h, aligned as one with tensor maps must be. */
    _Alignas(64) unsigned char args[GROAT_PLAN_ARGS_BYTES];
    size_t args_bytes;
    uint64_t moved_bytes; /* bytes of device memory a launch must move        */
    int64_t values[GROAT_DRIVER_ARGS]; /* run-time arguments, resolved        */
} groat_plan;

typedef struct groat_driver {
    const char *family;
    const groat_driver_arg *args; /* ended by a NULL name */

    /* Resolves values (one per arg, deflt where the user said nothing) into
     * buffers, grid and moved_bytes.  Errors: INVALID. */
    groat_status (*plan)(const groat_spec *spec, const int64_t *values,
                         groat_plan *plan, groat_error *error);

    /* Fills input buffer `index` (host memory) from seed. */
    void (*fill)(const groat_spec *spec, const groat_plan *plan, size_t index,
                 uint64_t seed, void *data);

    /* Writes plan->args for buffers at these device addresses; context is the
     * spec's, for what a launch needs made first, such as tensor maps.
     * Errors: of what it makes. */
    groat_status (*bind)(groat_context *context, const groat_spec *spec,
                         groat_plan *plan, const uint64_t *addresses,
                         groat_error *error);

    /* Computes output buffer `index` from all host copies of the inputs
     * (inputs[i] is NULL for outputs). */
    groat_status (*expect)(const groat_spec *spec, const groat_plan *plan,
                           const void *const *inputs, size_t index, void *data,
                           groat_error *error);

    /* NULL where every output must be equal byte by byte.  Else writes, for
     * output buffer `index` of floats, how far each may be from the expected
     * one, and returns true; false means that this buffer must be equal. */
    bool (*bound)(const groat_spec *spec, const groat_plan *plan,
                  const void *const *inputs, size_t index, float *allowed);

    /* NULL where an input may be any bytes.  Else looks at inputs that came
     * from files, before anything is computed from them: what is an index must
     * lie inside.  Errors: INVALID. */
    groat_status (*check)(const groat_spec *spec, const groat_plan *plan,
                          const void *const *inputs, groat_error *error);
} groat_driver;

/* Every driver, in the order of their families' names; ends with NULL.
 * list.sh makes it of the folders that have a host.c, which defines
 * groat_driver_FAMILY. */
extern const groat_driver *const groat_drivers[];

/* NULL when the family has none: it can be built, not run. */
const groat_driver *groat_driver_find(const char *family);

#endif
