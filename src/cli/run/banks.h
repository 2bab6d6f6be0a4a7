/* SPDX-License-Identifier: Apache-2.0
 *
 * banks.h - the bank report: the passes over the banks of shared memory that a
 * kernel's accesses take, summed by kind of access.
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
    uint64_t passes_min; /* passes without conflicts */
    unsigned reuse;      /* worst conflict, n-way; 1: none */
    unsigned together;   /* lanes served at once */
} groat__bank_sum;

/* Start from {0}. */
typedef struct groat__banks {
    groat__bank_sum sum[GROAT__ACCESSES][GROAT__ACCESS_BYTES];
    unsigned banks; /* 0: no access was seen */
} groat__banks;

/* Returns "copy", "write", "read", "transpose read", "wait" and so on. */
const char *groat__access_name(groat_access access);
/* Returns the at-th kind of access in a report; at < GROAT__ACCESSES. */
groat_access groat__access_at(size_t at);

void groat__banks_add(groat__banks *banks, const groat_trace *event);
groat__bank_sum groat__banks_total(const groat__banks *banks);
/* Returns passes / passes_min, or 1 if there were no passes. */
double groat__bank_mean(const groat__bank_sum *sum);
/* Prints a table to stdout, indented like the rest of `groat run`. */
void groat__banks_print(const groat__banks *banks);
/* Writes "banks": [...], with an element per kind, and "banks_total": {...};
 * both are null if banks is NULL. */
void groat__banks_json(groat__json *json, const groat__banks *banks);

#endif
