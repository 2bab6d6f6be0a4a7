/* SPDX-License-Identifier: Apache-2.0
 *
 * faulty.h - the interface of libfaulty.so: the environment variables that
 * describe a fault, and the report.
 *
 * FAULTY_FILES   counts only calls on paths that begin with this
 * FAULTY_CALLS   which calls: names of faulty_kinds between commas, or "any"
 * FAULTY_AT      N: the N-th of them; N+: that and all that follow
 * FAULTY_DO      the fault: the name of an errno; "kill-before",
 *                "kill-after", or "kill-amid" (half of a write is made)
 * FAULTY_CLOCK   SECONDS@N: shifts the wall clock by SECONDS from the program's
 *                N-th look at it on
 * FAULTY_NAPS    "skip": naps take no time, but the monotonic clock counts them
 * FAULTY_REPORT  the file of a faulty_report, which is updated continuously
 *
 * Child programs do not inherit these variables.
 */
#ifndef GROAT_TEST_FAULTY_H
#define GROAT_TEST_FAULTY_H

#include <stdatomic.h>
#include <stdint.h>

typedef enum faulty_kind {
    FAULTY_OPEN,    /* of an existing file, to read it */
    FAULTY_OPEN_RW, /* or to write to it */
    FAULTY_CREATE,  /* open with O_CREAT; mkdir */
    FAULTY_READ,
    FAULTY_WRITE,
    FAULTY_SYNC, /* never made: no test cuts the power */
    FAULTY_RENAME,
    FAULTY_UNLINK,
    FAULTY_TRUNCATE, /* and fallocate */
    FAULTY_MAP,
    FAULTY_LOCK, /* not unlocking */
    FAULTY_STAT,
    FAULTY_KINDS
} faulty_kind;

static const char *const faulty_kinds[FAULTY_KINDS] = {
    "open",   "open-rw", "create",   "read", "write", "sync",
    "rename", "unlink",  "truncate", "map",  "lock",  "stat"};

typedef struct faulty_report {
    atomic_uint calls[FAULTY_KINDS];
    atomic_uint fired;  /* faults that were made */
    atomic_uint looks;  /* at the wall clock */
    atomic_uint moved;  /* looks at a shifted clock */
    atomic_ullong naps; /* microseconds of naps that were skipped */
} faulty_report;

#endif
