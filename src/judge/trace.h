/* SPDX-License-Identifier: Apache-2.0
 *
 * trace.h - the report of accesses.
 */
#ifndef GROAT_JUDGE_TRACE_H
#define GROAT_JUDGE_TRACE_H

#include "judge/model.h"

/* What has no mbarrier. */
#define GROAT__JUDGE_NO_MBARRIER (~0u)

/* Notes one lane's access; a copy asks for a device address and reads there or,
 * out of range, nothing. */
void groat__judge_note(groat__judge *j, groat_access access, uint32_t shared,
                       uint32_t bytes, uint64_t asked, bool reads);
/* Notes that a lane arrives or waits: see groat_access. */
void groat__judge_note_wait(groat__judge *j, groat_access access,
                            unsigned mbarrier, unsigned phase);
/* Reports what the lanes of a wave noted since it last met. */
void groat__judge_tell(groat__judge *j, size_t wave);
/* Notes vectors that the engine copies for this fiber. */
void groat__judge_note_copy(groat__judge *j, const groat__traced *item);

#endif
