/* SPDX-License-Identifier: Apache-2.0
 *
 * trace.h - the trace of accesses and waits.
 */
#ifndef GROAT_JUDGE_TRACE_H
#define GROAT_JUDGE_TRACE_H

#include "judge/model.h"

#define GROAT__JUDGE_NO_MBARRIER (~0u)

/* Notes one lane's access.  Of a copy, a LOAD and a STORE, `asked` is the
 * device address; of a copy, `reads` is false where that is out of range and
 * zeros are copied. */
void groat__judge_note(groat__judge *j, groat_access access, uint32_t shared,
                       uint32_t bytes, uint64_t asked, bool reads);
/* Notes that a lane arrives or waits; see groat_access. */
void groat__judge_note_wait(groat__judge *j, groat_access access,
                            unsigned mbarrier, unsigned phase);
/* Reports the accesses that a wave's lanes noted since the last call. */
void groat__judge_tell(groat__judge *j, size_t wave);
/* Notes chunks that the copy engine copies for the current fiber. */
void groat__judge_note_copy(groat__judge *j, const groat__traced *item);

#endif
