/* SPDX-License-Identifier: Apache-2.0
 *
 * trace.h - the report of accesses.
 */
#ifndef GROAT_JUDGE_TRACE_H
#define GROAT_JUDGE_TRACE_H

#include "judge/model.h"

/* Notes one lane's access; a copy asks for a device address and reads there or,
 * out of range, nothing. */
void groat__judge_note(groat__judge *j, groat_access access, uint32_t shared,
                       uint32_t bytes, uint64_t asked, bool reads);
/* Reports what the lanes of a wave noted since it last met. */
void groat__judge_tell(groat__judge *j, size_t wave);
/* Reports vectors that the engine copies for this fiber. */
void groat__judge_tell_copy(groat__judge *j, size_t fiber,
                            const groat__traced *item);

#endif
