/* SPDX-License-Identifier: Apache-2.0
 *
 * rows_rig.h - shared by tests of paged_row_indices: launches on cpu:sm_90a or
 * on the device that GROAT_TEST_TARGET names, the lists that `issues` writes,
 * and the closed forms of slots.
 */
#ifndef GROAT_TESTS_ROWS_RIG_H
#define GROAT_TESTS_ROWS_RIG_H

#include "tests/kernels/drive.h"
#include "tests/unit/suite.h"

#define ROWS_FAMILY "paged_row_indices"

/* Words of an issue: offset, five coordinates, bytes, 1. */
enum { ROWS_LISTED = 8, ROWS_SPEC = 400 };

/* In the order of the driver's buffers, and of params.def. */
enum { CACHE, TABLE, LENGTHS, OUTPUT };
enum { IMAGE, ISSUES, STREAM };
enum { PAGED, CONTIGUOUS, RAGGED, CONTINUOUS };
enum { ALONE, LOCAL, MULTICAST, SM100 };

extern groat_context *rows_context;

/* Unchecked fixture around all tests: they share compiled kernels. */
void rows_share(void);
void rows_unshare(void);
void rows_open(void);
void rows_close(void);

const char *rows_target(void);
const groat_driver *rows_driver(void);
uint64_t rows_number(const char *name, uint64_t otherwise);
uint64_t rows_seed(void);

int64_t rows_constant(const drive *d, const char *name);
int64_t rows_argument(const drive *d, const char *name);

/* The input of a launch: the driver's, with a test's changes. */
typedef struct rows_how {
    uint64_t seed;
    /* Changes an input that was filled, or NULL. */
    void (*alter)(void *user, const drive *d, size_t index, void *data);
    void *user;
} rows_how;

/* Launches a spec, given as constants without the family's name and arguments
 * as "name=value name=value".  The driver must find every byte right. */
void rows_run(const char *constants, const char *arguments, const rows_how *how,
              drive *d);
void rows_run_on(const char *target, const char *constants,
                 const char *arguments, const rows_how *how, drive *d);

/* The words of block (x, y) of an output. */
const int32_t *rows_words(const drive *d, int64_t x, int64_t y);
/* The number of boxes in a list: of K, or of all parts of V. */
int64_t rows_boxes(const drive *d, bool v);
/* The row of each key, at the end of a block's list. */
const uint32_t *rows_of_keys(const drive *d, int64_t x, int64_t y);

/* Checks the output of image or stream against the closed forms. */
void rows_check(const drive *d);

#endif
