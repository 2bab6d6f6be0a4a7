/* SPDX-License-Identifier: Apache-2.0
 *
 * named.h - NVIDIA's barriers of some of a block's threads.
 * The hook is documented in cpu_hooks.h.
 */
#ifndef GROAT_JUDGE_NAMED_H
#define GROAT_JUDGE_NAMED_H

#include "judge/model.h"

void groat__judge_named_barrier(struct groat_cpu_env *env, unsigned id,
                                unsigned threads, unsigned how);

#endif
