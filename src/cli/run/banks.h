/* SPDX-License-Identifier: Apache-2.0
 *
 * banks.h - what a kernel's accesses cost in passes over the banks of shared
 * memory, added up by kind of access.
 */
#ifndef GROAT_CLI_BANKS_H
#define GROAT_CLI_BANKS_H

#include "cli/tool/out.h"
#include "groat.h"
#include "groat_tools.h"

enum {
    GROAT__ACCESSES = GROAT_ACCESS_TRANSPOSE + 1,
    GROAT__ACCESS_BYTES = 32 /* more than a lane ever moves at once */
};

/* Instructions of one kind: the access and the bytes per lane. */
typedef struct groat__bank_sum {
    uint64_t instructions; /* of a wave */
    uint64_t passes;
    uint64_t passes_min; /* were there no conflicts */
    unsigned reuse;      /* the worst: 1 is free of conflicts */
    unsigned together;   /* lanes that are served at once */
} groat__bank_sum;

/* Start from {0}. */
typedef struct groat__banks {
    groat__bank_sum sum[GROAT__ACCESSES][GROAT__ACCESS_BYTES];
    unsigned banks; /* 0: no access was seen */
} groat__banks;

/* "copy", "write", "read", "transpose read", and those of waits. */
const char *groat__access_name(groat_access access);
/* The order in which accesses are told; at is below GROAT__ACCESSES. */
groat_access groat__access_at(size_t at);

void groat__banks_add(groat__banks *banks, const groat_trace *event);
groat__bank_sum groat__banks_total(const groat__banks *banks);
/* Passes for each that would do without conflicts; 1 where there were none. */
double groat__bank_mean(const groat__bank_sum *sum);
/* A table on stdout, indented like the rest of what `run` says. */
void groat__banks_print(const groat__banks *banks);
/* "banks": [...], with an element per kind, and "banks_total": {...}; banks
 * NULL: both are null. */
void groat__banks_json(groat__json *json, const groat__banks *banks);

#endif
