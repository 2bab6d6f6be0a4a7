/* SPDX-License-Identifier: Apache-2.0
 *
 * copies.h - copies of NVIDIA's engine.
 */
#ifndef GROAT_JUDGE_COPIES_H
#define GROAT_JUDGE_COPIES_H

#include "judge/model.h"

/* Bytes [from, to) of a chunk come from device memory at `address`, the others
 * are zeros; `asked` is where the chunk would begin, were all in range. */
typedef struct groat__piece {
    uint64_t address;
    uint64_t asked;
    uint32_t from;
    uint32_t to;
} groat__piece;

/* Where chunk `index` of a copy lies in shared memory, and where it is from. */
uint32_t groat__judge_chunk_at(const groat__engine_copy *copy, uint32_t index);
groat__piece groat__judge_piece_of(const groat__engine_copy *copy,
                                   uint32_t index);
/* One more that is in flight. */
void groat__judge_copies_add(groat__judge *j, const groat__engine_copy *copy);
/* Lands the copies of a barrier's phase, which has completed. */
void groat__judge_copies_land(groat__judge *j, uint32_t barrier);
/* "a copy of thread 5 (box at 0, 64, 3)": who fills this byte, or filled it. */
void groat__judge_name_copy(const groat__judge *j,
                            const groat__judge_block *block, uint32_t at,
                            char said[GROAT__JUDGE_SAID]);

#endif
