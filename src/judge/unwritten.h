/* SPDX-License-Identifier: Apache-2.0
 *
 * unwritten.h - reads of unwritten shared memory.  Copying such bytes is
 * allowed, using them is not: a cluster that read them runs again with other
 * values in them, and has a finding if its accesses or its output in device
 * memory differ.
 */
#ifndef GROAT_JUDGE_UNWRITTEN_H
#define GROAT_JUDGE_UNWRITTEN_H

#include "judge/model.h"

/* Notes that a fiber reads an unwritten byte of a block.  The text is used if
 * this becomes a finding. */
void groat__judge_unwritten_note(groat__judge *j, size_t fiber,
                                 groat__judge_block *block, uint32_t at,
                                 const char *format, ...) GROAT_PRINTF(5, 6);
/* Called by a fiber that writes a byte with nothing between an earlier read and
 * this write: reports that read if the byte was unwritten, else returns. */
void groat__judge_unwritten_report(groat__judge *j,
                                   const groat__judge_block *block,
                                   uint32_t at);
/* Logs the device memory that the kernel is about to overwrite. */
void groat__judge_unwritten_keep(groat__judge *j, uint64_t address,
                                 uint64_t bytes);
/* Makes the first such read the finding of a deadlocked cluster, since a
 * missing wait may have caused both; fiber is one that waits.  False when there
 * was no such read. */
bool groat__judge_unwritten_blame(groat__judge *j, size_t fiber);
/* The initial value of a byte of shared memory: `random`, or the trial's. */
uint8_t groat__judge_unwritten_fill(const groat__judge *j,
                                    const groat__judge_block *block, size_t at,
                                    uint8_t random);
/* Forgets the previous cluster's reads and writes. */
void groat__judge_unwritten_forget(groat__judge *j);
/* Runs a cluster that has ended again, with run(), as often as needed to decide
 * whether its unwritten reads matter.  Sets j->failed and j->finding. */
void groat__judge_unwritten_settle(groat__judge *j,
                                   void (*run)(groat__judge *j,
                                               const unsigned corner[3],
                                               uint32_t *order),
                                   const unsigned corner[3], uint32_t *order);
void groat__judge_unwritten_drop(groat__judge *j);

#endif
