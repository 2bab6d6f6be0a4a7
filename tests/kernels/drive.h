/* SPDX-License-Identifier: Apache-2.0
 *
 * drive.h - a launch by a family's driver: plan, fill, bind, launch, read back,
 * and what the driver expects.
 */
#ifndef GROAT_TESTS_DRIVE_H
#define GROAT_TESTS_DRIVE_H

#include <check.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/driver.h"
#include "groat.h"

/* Buffers are the caller's to free. */
typedef struct driven {
    groat_spec *spec;
    groat_plan plan;
    void *buffers[GROAT_PLAN_BUFFERS];
    void *want;     /* of the output, the last buffer */
    float *allowed; /* NULL: every byte must be equal */
} driven;

/* What a launch may be given beside a driver's own choices. */
typedef struct drive_how {
    uint64_t seed;
    /* Changes an input that was filled; NULL: none. */
    void (*alter)(void *user, const groat_plan *plan, size_t index, void *data);
    void *user;
} drive_how;

/* The status of the launch; a kernel must be had. */
groat_status drive_try(groat_context *context, const groat_driver *driver,
                       const char *spec, const char *target,
                       const int64_t *values, const drive_how *how, driven *d,
                       groat_error *error);
/* The same, and the launch must be right. */
void drive_run(groat_context *context, const groat_driver *driver,
               const char *spec, const char *target, const int64_t *values,
               uint64_t seed, driven *d);
/* The first byte of the output that is not as the driver has it, or SIZE_MAX.
 */
size_t drive_wrong(const driven *d);
void drive_free(driven *d);

/* All values of a driver's arguments as if the user had said nothing. */
void drive_defaults(const groat_driver *driver, int64_t *values);
size_t drive_argument(const groat_driver *driver, const char *name);
/* Sets those of "name=value name=value". */
void drive_set(const groat_driver *driver, const char *text, int64_t *values);

uint64_t drive_upload(groat_context *context, const char *target,
                      const void *data, size_t bytes);
groat_status drive_launch(groat_context *context, const char *spec,
                          const char *target, const unsigned grid[3],
                          const void *args, size_t args_bytes,
                          groat_error *error);

#endif
