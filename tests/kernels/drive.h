/* SPDX-License-Identifier: Apache-2.0
 *
 * drive.h - what tests of families share: a context without a disk, specs, and
 * launches by the family's driver (driver/driver.h), on the driver's input or
 * on the test's own.
 *
 *     drive_values(driver, values, "valid_rows=%d heads=2", rows);
 *     drive_open(&d, context, driver, spec, target, values);
 *     drive_fill(&d, seed);          or the test's bytes, into d.host[0] ...
 *     drive_run(&d);
 *     drive_ck_right(&d);            or d.host[d.output] against an oracle
 *     drive_close(&d);
 *
 * What goes wrong fails the test that asked; only drive_launch() gives a status
 * back, for kernels that are meant to be at fault.
 */
#ifndef GROAT_TESTS_DRIVE_H
#define GROAT_TESTS_DRIVE_H

#include "kernels-src/driver/driver.h"
#include "tests/unit/suite.h"

/* ---- contexts and specs */

/* Of the test that runs: drive_setup() and drive_teardown() are a TCase's
 * checked fixture. */
extern groat_context *drive_context;
void drive_setup(void);
void drive_teardown(void);

/* Another one, whose judge tells `trace` what it sees. */
groat_context *drive_open_context(groat_trace_fn *trace, void *user);

/* The number in an environment variable. */
uint64_t drive_number(const char *variable, uint64_t otherwise);

/* Runs a suite whose device tests are left out without GROAT_TEST_TARGET, and
 * says so. */
int drive_main(Suite *suite);

groat_spec *drive_spec(groat_context *context, const char *text,
                       const char *target);
/* Whether the rules accept it. */
bool drive_allows(groat_context *context, const char *text, const char *target);
/* A parameter or derived constant that the family has. */
int64_t drive_value(groat_spec *spec, const char *name);
/* Those that `names` has, parted by blanks, into as many numbers. */
void drive_read(groat_spec *spec, const char *names, int64_t *values);

/* ---- run-time arguments */

/* All arguments of a driver: those of `said`, a format of printf, which has
 * them as "valid_rows=33 heads=2", and of the others that the user said
 * nothing. */
void drive_values(const groat_driver *driver, int64_t values[GROAT_DRIVER_ARGS],
                  const char *said, ...) GROAT_PRINTF(3, 4);

/* INVALID of the driver's plan for the spec on cpu:gfx950, with these words
 * behind the family's name. */
void drive_ck_refused(groat_context *context, const groat_driver *driver,
                      const char *spec, const int64_t *values,
                      const char *words);

/* ---- launches */

typedef struct drive {
    groat_context *context;
    const groat_driver *driver;
    groat_spec *spec;
    groat_plan plan;
    size_t output; /* the first output; most have no other */
    /* In the plan's order.  Inputs are zeros at first; outputs are what the
     * last launch left, where nothing was written bytes of 0xA5. */
    void *host[GROAT_PLAN_BUFFERS];
    uint64_t address[GROAT_PLAN_BUFFERS]; /* of the last launch */
    /* Of outputs, once drive_expect() was asked. */
    void *want[GROAT_PLAN_BUFFERS];
    float *allowed[GROAT_PLAN_BUFFERS]; /* NULL: every byte must be equal, or
                                         * the buffer has a tolerance        */
    uint64_t seed; /* of drive_fill(), for outputs that are filled */
} drive;

void drive_open(drive *d, groat_context *context, const groat_driver *driver,
                const char *spec, const char *target, const int64_t *values);
void drive_close(drive *d);

/* A run-time argument as the plan has it. */
int64_t drive_argument(const drive *d, const char *name);

/* The driver's own input. */
void drive_fill(drive *d, uint64_t seed);

/* The kernel of the spec; release it. */
groat_kernel *drive_kernel(const drive *d);

/* Uploads, binds, launches, reads back and frees; the status is that of the
 * launch. */
groat_status drive_launch(drive *d, groat_kernel *kernel, groat_error *error);
/* The first half of it, for a test that changes d->plan.args before the other
 * one, and the latter. */
void drive_place(drive *d);
groat_status drive_go(drive *d, groat_kernel *kernel, groat_error *error);
/* A launch of the spec's own kernel, which must succeed. */
void drive_run(drive *d);

/* What the driver expects of the inputs that are there. */
void drive_expect(drive *d);
/* The first byte of output `index` that is not as the driver expects, or
 * SIZE_MAX. */
size_t drive_wrong(drive *d, size_t index);
/* No output has one. */
void drive_ck_right(drive *d);

/* Both are alike in all bytes; else says for `what` where they are not. */
void drive_ck_same(const drive *d, const char *what, const void *got,
                   const void *want, size_t bytes);

#endif
