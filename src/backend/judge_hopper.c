/* SPDX-License-Identifier: Apache-2.0
 *
 * judge_hopper.c answers the hooks of what the judge has no model of yet: a
 * kernel that uses one is convicted of it, never run on.
 */
#include "backend/judge_internal.h"

#define ABSENT(name)                                                           \
    groat__judge_convict(groat__judge_of(env),                                 \
                         "uses " name ", which the judge does not model yet")

unsigned groat__judge_elect(struct groat_cpu_env *env)
{
    ABSENT("elect");
}

void groat__judge_warp_barrier(struct groat_cpu_env *env)
{
    ABSENT("a barrier of a warp");
}

void groat__judge_cluster_barrier(struct groat_cpu_env *env)
{
    ABSENT("a barrier of a cluster");
}

void groat__judge_mbarrier_init(struct groat_cpu_env *env, unsigned bar,
                                unsigned count)
{
    (void)bar;
    (void)count;
    ABSENT("an mbarrier");
}

void groat__judge_mbarrier_init_fence(struct groat_cpu_env *env)
{
    ABSENT("an mbarrier");
}

void groat__judge_mbarrier_arrive(struct groat_cpu_env *env, unsigned bar,
                                  unsigned rank)
{
    (void)bar;
    (void)rank;
    ABSENT("an mbarrier");
}

void groat__judge_mbarrier_expect(struct groat_cpu_env *env, unsigned bar,
                                  unsigned bytes)
{
    (void)bar;
    (void)bytes;
    ABSENT("an mbarrier");
}

void groat__judge_mbarrier_wait(struct groat_cpu_env *env, unsigned bar,
                                unsigned parity)
{
    (void)bar;
    (void)parity;
    ABSENT("an mbarrier");
}

void groat__judge_async_proxy_fence(struct groat_cpu_env *env)
{
    ABSENT("a fence of the asynchronous proxy");
}

void groat__judge_tma_load(struct groat_cpu_env *env, const void *map,
                           unsigned to, unsigned bar, const int *at,
                           unsigned rank, unsigned reach, unsigned ctas)
{
    (void)map;
    (void)to;
    (void)bar;
    (void)at;
    (void)rank;
    (void)reach;
    (void)ctas;
    ABSENT("a copy of a tensor map");
}

void groat__judge_tma_prefetch(struct groat_cpu_env *env, const void *map)
{
    (void)map;
    ABSENT("a prefetch of a tensor map");
}

void groat__judge_bulk_load(struct groat_cpu_env *env, unsigned to,
                            unsigned long long from, unsigned bytes,
                            unsigned bar)
{
    (void)to;
    (void)from;
    (void)bytes;
    (void)bar;
    ABSENT("a bulk copy");
}

void groat__judge_wgmma_fence(struct groat_cpu_env *env)
{
    ABSENT("wgmma");
}

void groat__judge_wgmma_commit(struct groat_cpu_env *env)
{
    ABSENT("wgmma");
}

void groat__judge_wgmma_wait(struct groat_cpu_env *env, unsigned groups)
{
    (void)groups;
    ABSENT("wgmma");
}

void groat__judge_wgmma(struct groat_cpu_env *env, unsigned number, unsigned n,
                        unsigned a_mn_major, unsigned b_mn_major,
                        unsigned long long desc_a, unsigned long long desc_b,
                        unsigned accumulate, float *acc)
{
    (void)number;
    (void)n;
    (void)a_mn_major;
    (void)b_mn_major;
    (void)desc_a;
    (void)desc_b;
    (void)accumulate;
    (void)acc;
    ABSENT("wgmma");
}
