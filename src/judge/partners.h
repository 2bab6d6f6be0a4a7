/* SPDX-License-Identifier: Apache-2.0
 *
 * partners.h - values for unwritten bytes that may turn a comparison.
 *
 * A cluster that runs again reports its comparisons, in three passes with a
 * value each.  In the first the unwritten bytes, or a part of them and an
 * offset, are recognized beside what they are compared with.  The second and
 * the third tell which comparisons depend on them in other ways, and by a line
 * through both what makes the two sides equal.
 */
#ifndef GROAT_JUDGE_PARTNERS_H
#define GROAT_JUDGE_PARTNERS_H

#include "judge/model.h"

enum { GROAT__PARTNER_PASSES = 3 };

/* The low `bytes` bytes of a number, again and again. */
uint64_t groat__judge_repeat(uint64_t number, unsigned bytes);
void groat__judge_partners_forget(groat__judge *j);
/* Starts a pass; returns the value of the unwritten bytes in it. */
uint64_t groat__judge_partner_pass(groat__judge *j, int pass);
/* The hook of a comparison: adds to j->unwritten.partners. */
void groat__judge_compared(struct groat_cpu_env *env, unsigned long long a,
                           unsigned long long b, unsigned bytes);

#endif
