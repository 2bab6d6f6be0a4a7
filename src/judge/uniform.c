/* SPDX-License-Identifier: Apache-2.0
 *
 * uniform.c checks values that must be equal in all lanes of a wave.
 */
#include "judge/uniform.h"

#include "judge/fiber.h"

/* Lanes run one after the other: the first lane to arrive sets the value. */
void groat__judge_uniform(groat__judge *j, uint64_t value, const char *what)
{
    groat__fiber *f = groat__judge_fiber(j);
    groat__wave_log *log = &j->waves[groat__judge_wave_of(j, j->current)];
    size_t index = f->uniforms++;

    if (index == log->count) {
        log->values = groat__judge_grow(j, log->values, log->count, &log->cap,
                                        sizeof(*log->values));
        log->values[log->count++] = value;
    }
    if (log->values[index] != value)
        groat__judge_report(
            j,
            "has %s 0x%llx where another lane of its wave has 0x%llx: it must "
            "be equal in all lanes",
            what, (unsigned long long)value,
            (unsigned long long)log->values[index]);
}

unsigned groat__judge_wave_uniform(struct groat_cpu_env *env, unsigned value)
{
    groat__judge *j = groat__judge_enter(env);

    if (groat__judge_is_amd(j))
        groat__judge_uniform(j, value, "a wave-uniform value");
    return value;
}
