/* SPDX-License-Identifier: Apache-2.0
 *
 * pointers.h - memory accesses through plain pointers.
 * Hooks are documented in cpu_hooks.h.
 */
#ifndef GROAT_JUDGE_POINTERS_H
#define GROAT_JUDGE_POINTERS_H

#include "judge/model.h"

void groat__judge_touch(struct groat_cpu_env *env, const void *address,
                        unsigned long bytes, unsigned kind, const void *from);
_Noreturn void groat__judge_misaligned(struct groat_cpu_env *env,
                                       const void *address, unsigned unit,
                                       const char *type, const void *from);
void groat__judge_refuse(struct groat_cpu_env *env, const char *why,
                         const void *from);
void groat__judge_print(struct groat_cpu_env *env, const char *text,
                        unsigned long bytes);

#endif
