/* SPDX-License-Identifier: Apache-2.0
 *
 * atomic.h - atomic operations.  Hooks are documented in cpu_hooks.h.
 */
#ifndef GROAT_JUDGE_ATOMIC_H
#define GROAT_JUDGE_ATOMIC_H

#include "judge/model.h"

unsigned groat__judge_shared_atomic(struct groat_cpu_env *env, unsigned address,
                                    unsigned op, unsigned x, unsigned expected);
unsigned groat__judge_global_atomic(struct groat_cpu_env *env,
                                    unsigned long long address, unsigned op,
                                    unsigned x, unsigned expected);

#endif
