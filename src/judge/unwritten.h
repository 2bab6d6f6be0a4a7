/* SPDX-License-Identifier: Apache-2.0
 *
 * unwritten.h - shared memory that is read before anybody wrote it.  To copy
 * it is no fault, to use it is: a cluster that read such bytes runs again with
 * other values in them, and has a finding when its accesses or the bytes that
 * it leaves in device memory are not the same.
 */
#ifndef GROAT_JUDGE_UNWRITTEN_H
#define GROAT_JUDGE_UNWRITTEN_H

#include "judge/model.h"

/* Notes that a fiber reads a byte of its block that nobody wrote; the words are
 * the finding's, should there be one. */
void groat__judge_unwritten_note(groat__judge *j, size_t fiber, uint32_t at,
                                 const char *format, ...) GROAT_PRINTF(4, 5);
/* Reports the read of such a byte from the fiber that writes it now, with
 * nothing between the two; returns when there was no such read. */
void groat__judge_unwritten_report(groat__judge *j,
                                   const groat__judge_block *block,
                                   uint32_t at);
/* Keeps what device memory holds where the kernel writes now. */
void groat__judge_unwritten_keep(groat__judge *j, uint64_t address,
                                 uint64_t bytes);
/* Makes the first such read the finding of a cluster that waits for ever, where
 * the values had no time to show, as behind a wait that is missing; fiber is
 * one that waits.  False when there is none. */
bool groat__judge_unwritten_blame(groat__judge *j, size_t fiber);
/* What a byte of shared memory holds at first, made from a random one. */
uint8_t groat__judge_unwritten_fill(const groat__judge *j,
                                    const groat__judge_block *block, size_t at,
                                    uint8_t random);
/* Before a cluster: forgets the one before. */
void groat__judge_unwritten_forget(groat__judge *j);
/* Runs a cluster that has ended again, with run(), as often as it takes
 * to know whether what it read matters; then j->failed and the finding say. */
void groat__judge_unwritten_settle(groat__judge *j,
                                   void (*run)(groat__judge *j,
                                               const unsigned corner[3],
                                               uint32_t *order),
                                   const unsigned corner[3], uint32_t *order);
void groat__judge_unwritten_drop(groat__judge *j);

#endif
