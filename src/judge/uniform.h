/* SPDX-License-Identifier: Apache-2.0
 *
 * uniform.h - values that must be equal in a wave.
 */
#ifndef GROAT_JUDGE_UNIFORM_H
#define GROAT_JUDGE_UNIFORM_H

#include "judge/model.h"

/* The hook of cpu_hooks.h with this name. */
unsigned groat__judge_wave_uniform(struct groat_cpu_env *env, unsigned value);
/* Reports if another lane of the wave has a different value here. */
void groat__judge_uniform(groat__judge *j, uint64_t value, const char *what);

#endif
