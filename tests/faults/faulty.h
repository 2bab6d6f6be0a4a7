/* SPDX-License-Identifier: Apache-2.0
 *
 * faulty.h - what a program under libfaulty.so and who started it have in
 * common: the variables that say what is to go wrong, and what it tells.
 *
 * FAULTY_FILES   only calls on these are counted: a path, and all that begins
 *                with it
 * FAULTY_CALLS   which calls: names of faulty_kinds between commas, or "any"
 * FAULTY_AT      N: the N-th of them; N+: that and all that follow
 * FAULTY_DO      what becomes of it: the name of an errno; "kill-before",
 *                "kill-after", or "kill-amid" (a write, of which half is made)
 * FAULTY_CLOCK   SECONDS@N: from its N-th look at the wall clock on, a program
 *                sees it set by that much
 * FAULTY_NAPS    "skip": naps take no time, but the monotonic clock counts them
 * FAULTY_REPORT  the file of a faulty_report, which is kept up to date there
 *
 * Nothing is handed down to programs that are started.
 */
#ifndef GROAT_TEST_FAULTY_H
#define GROAT_TEST_FAULTY_H

#include <stdatomic.h>
#include <stdint.h>

typedef enum faulty_kind {
    FAULTY_OPEN,    /* of what is there, to read it, */
    FAULTY_OPEN_RW, /* or to write to it             */
    FAULTY_CREATE,  /* open with O_CREAT; mkdir */
    FAULTY_READ,
    FAULTY_WRITE,
    FAULTY_SYNC, /* never made: nothing here cuts the power */
    FAULTY_RENAME,
    FAULTY_UNLINK,
    FAULTY_TRUNCATE, /* and the making of room */
    FAULTY_MAP,
    FAULTY_LOCK, /* not the giving back of one */
    FAULTY_STAT,
    FAULTY_KINDS
} faulty_kind;

static const char *const faulty_kinds[FAULTY_KINDS] = {
    "open",   "open-rw", "create",   "read", "write", "sync",
    "rename", "unlink",  "truncate", "map",  "lock",  "stat"};

typedef struct faulty_report {
    atomic_uint calls[FAULTY_KINDS];
    atomic_uint fired;  /* faults that were made                    */
    atomic_uint looks;  /* at the wall clock                        */
    atomic_uint moved;  /* of these, at one that was set            */
    atomic_ullong naps; /* microseconds of naps that were not taken */
} faulty_report;

#endif
