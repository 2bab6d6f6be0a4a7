/* SPDX-License-Identifier: Apache-2.0
 *
 * memory.h - shared and device memory, and asynchronous copies by threads.
 * Hooks are documented in cpu_hooks.h.
 */
#ifndef GROAT_JUDGE_MEMORY_H
#define GROAT_JUDGE_MEMORY_H

#include "judge/model.h"
#include "groat_tools.h"

/* Reports an index outside of an array in a thread's own memory. */
void groat__judge_out_of_bounds(struct groat_cpu_env *env, const char *array,
                                long long index, const void *from);
void groat__judge_shared_load(struct groat_cpu_env *env, unsigned address,
                              void *to, unsigned bytes);
void groat__judge_cluster_load(struct groat_cpu_env *env, unsigned address,
                               unsigned rank, void *to, unsigned bytes);
void groat__judge_shared_store(struct groat_cpu_env *env, unsigned address,
                               const void *from, unsigned bytes);
void groat__judge_global_load(struct groat_cpu_env *env,
                              unsigned long long address, void *to,
                              unsigned bytes);
void groat__judge_global_store(struct groat_cpu_env *env,
                               unsigned long long address, const void *from,
                               unsigned bytes);
void groat__judge_buffer_load(struct groat_cpu_env *env,
                              unsigned long long base, unsigned num_records,
                              unsigned voffset, unsigned soffset, void *to,
                              unsigned bytes);
void groat__judge_async_copy(struct groat_cpu_env *env, unsigned long long base,
                             unsigned num_records, unsigned shared_chunk,
                             unsigned lane, unsigned voffset, unsigned soffset,
                             unsigned bytes);
void groat__judge_async_commit(struct groat_cpu_env *env);
void groat__judge_async_wait(struct groat_cpu_env *env, unsigned ops,
                             unsigned groups);
/* Reads shared memory with all checks; `access` is what the trace calls it. */
void groat__judge_read(groat__judge *j, uint32_t address, void *to,
                       uint32_t bytes, groat_access access);
/* Reports if the current fiber may not write a byte of the block. */
void groat__judge_check_write(groat__judge *j, groat__judge_block *block,
                              uint32_t at, const char *verb);
/* Writes device memory that may be written, with all checks of order. */
void groat__judge_write_device(groat__judge *j, uint64_t address,
                               const void *from, uint32_t bytes);
/* Check an access that the kernel itself makes through a pointer; kind is
 * GROAT_CPU_READ, _WRITE or _ATOMIC. */
void groat__judge_touch_shared(groat__judge *j, uint32_t address,
                               uint32_t bytes, unsigned kind);
void groat__judge_check_inside(groat__judge *j, uint32_t address,
                               uint64_t bytes, const char *verb);
void groat__judge_check_device(groat__judge *j, uint64_t address,
                               uint64_t bytes, const char *verb);
void groat__judge_check_alignment(groat__judge *j, uint64_t address,
                                  uint32_t bytes, const char *verb);
/* Reports if the thread ends with copies in flight. */
void groat__judge_memory_check_end(groat__judge *j);

#endif
