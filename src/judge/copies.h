/* SPDX-License-Identifier: Apache-2.0
 *
 * copies.h - copies by NVIDIA's copy engine.
 */
#ifndef GROAT_JUDGE_COPIES_H
#define GROAT_JUDGE_COPIES_H

#include "judge/model.h"

/* Bytes [from, to) of a chunk come from device memory at `address`, the others
 * are zeros; `asked` is where the chunk would begin if all were in range. */
typedef struct groat__piece {
    uint64_t address;
    uint64_t asked;
    uint32_t from;
    uint32_t to;
} groat__piece;

/* Where chunk `index` of a copy lies in shared memory, and its source. */
uint32_t groat__judge_chunk_at(const groat__engine_copy *copy, uint32_t index);
groat__piece groat__judge_piece_of(const groat__engine_copy *copy,
                                   uint32_t index);
/* Adds a copy to those in flight. */
void groat__judge_copies_add(groat__judge *j, const groat__engine_copy *copy);
/* Lands the copies of a barrier's phase that completes. */
void groat__judge_copies_land(groat__judge *j, uint32_t barrier);
/* Names the copy that fills or filled this byte: "a copy of thread 5 (box at 0,
 * 64, 3)", or "a copy" if it is no longer known. */
void groat__judge_name_copy(const groat__judge *j,
                            const groat__judge_block *block, uint32_t at,
                            char said[GROAT__JUDGE_SAID]);

#endif
