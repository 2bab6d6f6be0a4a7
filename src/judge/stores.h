/* SPDX-License-Identifier: Apache-2.0
 *
 * stores.h - copies by NVIDIA's copy engine from shared to device memory.
 * Hooks are documented in cpu_hooks.h.
 */
#ifndef GROAT_JUDGE_STORES_H
#define GROAT_JUDGE_STORES_H

#include "judge/model.h"

void groat__judge_tma_store(struct groat_cpu_env *env, const void *map,
                            unsigned from, const int *at, unsigned rank);
void groat__judge_bulk_store(struct groat_cpu_env *env, unsigned long long to,
                             unsigned from, unsigned bytes);
void groat__judge_store_commit(struct groat_cpu_env *env);
void groat__judge_store_wait(struct groat_cpu_env *env, unsigned groups);
/* Reports if the thread ends with copies that it did not wait for. */
void groat__judge_stores_check_end(groat__judge *j);

#endif
