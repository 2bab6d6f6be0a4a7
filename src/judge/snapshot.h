/* SPDX-License-Identifier: Apache-2.0
 *
 * snapshot.h - what device memory held before a launch, where it was stored to.
 */
#ifndef GROAT_JUDGE_SNAPSHOT_H
#define GROAT_JUDGE_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "judge/index.h"

enum { GROAT__SNAPSHOT_LINE = 16 /* bytes, at a multiple of it */ };

/* Bytes [from, to) of a line: those of a buffer. */
typedef struct groat__snapshot_line {
    uint64_t address;
    uint8_t from;
    uint8_t to;
    uint8_t bytes[GROAT__SNAPSHOT_LINE];
} groat__snapshot_line;

typedef struct groat__snapshot {
    groat__snapshot_line *lines;
    size_t count;
    size_t cap;
    groat__index index; /* of lines, from 1, by their addresses */
    bool lost;          /* not all of it could be kept */
} groat__snapshot;

/* Keeps a line, without its bytes, before the first store to it; later ones
 * change nothing. */
void groat__snapshot_keep(groat__snapshot *snapshot,
                          const groat__snapshot_line *which);
/* Puts back all lines. */
void groat__snapshot_restore(const groat__snapshot *snapshot);
void groat__snapshot_drop(groat__snapshot *snapshot);

#endif
