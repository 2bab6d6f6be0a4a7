/* SPDX-License-Identifier: Apache-2.0
 *
 * drive.h - shared by the tests of families: a context without a disk, specs,
 * and launches by the family's driver (driver/driver.h), on the driver's input
 * or on the test's own.
 *
 *     drive_values(driver, values, "valid_rows=%d heads=2", rows);
 *     drive_open(&d, context, driver, spec, target, values);
 *     drive_fill(&d, seed);          or the test's bytes, into d.host[0] ...
 *     drive_run(&d);
 *     drive_ck_right(&d);            or d.host[d.output] against an oracle
 *     drive_close(&d);
 *
 * A failure fails the calling test; only drive_launch() returns a status, for
 * kernels that are wrong on purpose.
 */
#ifndef GROAT_TESTS_DRIVE_H
#define GROAT_TESTS_DRIVE_H

#include "kernels-src/driver/driver.h"
#include "tests/unit/suite.h"

/* ---- contexts and specs */

/* The running test's context: drive_setup() and drive_teardown() are a TCase's
 * checked fixture. */
extern groat_context *drive_context;
void drive_setup(void);
void drive_teardown(void);

/* Opens another context, whose judge reports its accesses to `trace`. */
groat_context *drive_open_context(groat_trace_fn *trace, void *user);

/* Returns the number in an environment variable, or `otherwise`. */
uint64_t drive_number(const char *variable, uint64_t otherwise);

/* Runs a suite; without GROAT_TEST_TARGET it reports that the device tests are
 * left out. */
int drive_main(Suite *suite);

groat_spec *drive_spec(groat_context *context, const char *text,
                       const char *target);
/* Returns whether the rules accept the spec. */
bool drive_allows(groat_context *context, const char *text, const char *target);
/* Returns a parameter or derived constant, which the family must have. */
int64_t drive_value(groat_spec *spec, const char *name);
/* Reads the parameters in `names`, separated by blanks, into `values`. */
void drive_read(groat_spec *spec, const char *names, int64_t *values);

/* ---- run-time arguments */

/* Fills in all arguments of a driver: those that `said` names, a printf
 * format that expands to "valid_rows=33 heads=2", and defaults for the
 * others. */
void drive_values(const groat_driver *driver, int64_t values[GROAT_DRIVER_ARGS],
                  const char *said, ...) GROAT_PRINTF(3, 4);

/* Checks that the driver's plan for the spec on cpu:gfx950 is INVALID, with
 * these words behind the family's name. */
void drive_ck_refused(groat_context *context, const groat_driver *driver,
                      const char *spec, const int64_t *values,
                      const char *words);

/* ---- launches */

typedef struct drive {
    groat_context *context;
    const groat_driver *driver;
    groat_spec *spec;
    groat_plan plan;
    size_t output; /* index of the first output; most have only one */
    /* In the plan's order.  Inputs start as zeros; outputs are those of the
     * last launch, with bytes of 0xA5 where nothing was written. */
    void *host[GROAT_PLAN_BUFFERS];
    uint64_t address[GROAT_PLAN_BUFFERS]; /* in the last launch */
    /* Expected outputs, once drive_expect() was called. */
    void *want[GROAT_PLAN_BUFFERS];
    float *allowed[GROAT_PLAN_BUFFERS]; /* NULL: every byte must be equal, or
                                         * the buffer has a tolerance        */
    uint64_t seed; /* seed of drive_fill(), for outputs that are filled */
} drive;

void drive_open(drive *d, groat_context *context, const groat_driver *driver,
                const char *spec, const char *target, const int64_t *values);
void drive_close(drive *d);

/* Returns the value that the plan has for a run-time argument. */
int64_t drive_argument(const drive *d, const char *name);

/* Fills the inputs with the driver's own data. */
void drive_fill(drive *d, uint64_t seed);

/* Returns the kernel of the spec; the caller releases it. */
groat_kernel *drive_kernel(const drive *d);

/* Uploads, binds, launches, reads back and frees; returns the status of the
 * launch. */
groat_status drive_launch(drive *d, groat_kernel *kernel, groat_error *error);
/* The two halves of drive_launch(), for a test that changes d->plan.args
 * between them: drive_place() uploads and binds. */
void drive_place(drive *d);
groat_status drive_go(drive *d, groat_kernel *kernel, groat_error *error);
/* Launches the spec's own kernel; a failure fails the test. */
void drive_run(drive *d);

/* Computes the outputs that the driver expects for the current inputs. */
void drive_expect(drive *d);
/* Returns the first byte of output `index` that is not as the driver expects,
 * or SIZE_MAX. */
size_t drive_wrong(drive *d, size_t index);
/* Checks that all outputs are as the driver expects. */
void drive_ck_right(drive *d);

/* Checks that all bytes are equal; a failure names `what` and the place. */
void drive_ck_same(const drive *d, const char *what, const void *got,
                   const void *want, size_t bytes);

#endif
