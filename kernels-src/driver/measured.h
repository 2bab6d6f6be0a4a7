/* SPDX-License-Identifier: Apache-2.0
 *
 * measured.h - the kernels that groat demo, bench and attention run when the
 * command line names none.
 */
#ifndef GROAT_KERNELS_MEASURED_H
#define GROAT_KERNELS_MEASURED_H

#include "driver.h"

/* A loader for the KV cache of a model. */
typedef struct groat_demo_kernel {
    const char *model;
    const char *shape; /* of its tile, in a few words */
    const char *spec;
} groat_demo_kernel;

enum {
    GROAT_DEMO_KERNELS = 8,
    GROAT_PLAIN_READS = 5,
    GROAT_STREAMS = 4,
    GROAT_NUMBERED = 160 /* bytes of a numbered spec */
};

extern const groat_demo_kernel groat_demo_kernels[GROAT_DEMO_KERNELS];

/* Kernels that only read, the reference for bandwidths: the best one counts. */
extern const char *const groat_plain_reads[GROAT_PLAIN_READS];

/* Loaders that stream. */
extern const char *const groat_streams[GROAT_STREAMS];

/* A kernel of which a compile is timed. */
extern const char groat_built_kernel[];

/* The smallest kernel, so that its launch dominates, and values of its driver's
 * arguments with which no data is moved.  Its buffers are an input and an
 * output. */
extern const char groat_smallest_kernel[];
extern const int64_t groat_smallest_values[GROAT_DRIVER_ARGS];

/* Writes specs that differ in one constant only, and cost the same time. */
void groat_number_kernel(char spec[GROAT_NUMBERED], unsigned number);

/* Returns the driver of a spec's family, or NULL. */
const groat_driver *groat_driver_of(const char *spec);

#endif
