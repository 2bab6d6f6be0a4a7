/* SPDX-License-Identifier: Apache-2.0
 *
 * judge_rig.h - shared by the tests of the judge's NVIDIA model: kernels that
 * are C functions and call the hooks of a compiled kernel; device memory with a
 * known pattern; launches under several seeds.
 */
#ifndef GROAT_TEST_BACKEND_JUDGE_RIG_H
#define GROAT_TEST_BACKEND_JUDGE_RIG_H

#include "tests/pipe/rig.h"

#include "judge/judge.h"
#include "kernels-src/common/cpu_hooks.h"
#include "kernels-src/common/cpu_tensor_map.h"

enum {
    J_STACK = 256 << 10,
    J_DEVICE = 1 << 18,
    J_OUT = 1 << 17,
    J_SHARED = 64 << 10,
    J_SEEDS = 5
};

/* One launch at a time. */
static struct groat_cpu_env *env;

static struct {
    groat_error error;
    const char *arch;
    unsigned blocks;
    unsigned rows; /* blocks of Y and of Z */
    unsigned cluster;
    unsigned threads;
    unsigned shared;
    groat_trace_fn *trace;
    _Alignas(256) unsigned char device[J_DEVICE];
    _Alignas(256) unsigned char out[J_OUT];
    _Alignas(64) struct groat_cpu_tensor_map map;
    unsigned mode; /* meaning depends on the kernel */
    unsigned arg;
} rig_j;

static inline void j_setup(void)
{
    memset(&rig_j, 0, sizeof(rig_j));
    rig_j.error = (groat_error)GROAT_ERROR_INIT;
    rig_j.arch = "sm_90a";
    rig_j.blocks = rig_j.rows = rig_j.cluster = 1;
    rig_j.threads = 64;
    rig_j.shared = J_SHARED;
    memset(rig_j.out, 0xA5, sizeof(rig_j.out));
    for (unsigned i = 0; i < J_DEVICE; i++) {
        uint32_t x = i * 2654435761u;

        rig_j.device[i] = (unsigned char)((x ^ x >> 15) * 2246822519u >> 13);
    }
}

static inline void j_teardown(void)
{
    groat_error_clear(&rig_j.error);
}

static unsigned j_bind(struct groat_cpu_env *to)
{
    env = to;
    return GROAT_CPU_HOOKS_VERSION;
}

static inline groat_status j_judge(void (*entry)(const void *), uint64_t seed)
{
    const groat__judge_range ranges[] = {
        {(uint64_t)(uintptr_t)rig_j.device, J_DEVICE},
        {(uint64_t)(uintptr_t)rig_j.out, J_OUT}};
    groat__judge_launch trial = {.kernel = "probe",
                                 .entry = entry,
                                 .bind = j_bind,
                                 .grid = {rig_j.blocks, rig_j.rows, rig_j.rows},
                                 .block = {rig_j.threads, 1, 1},
                                 .cluster = {rig_j.cluster, 1, 1},
                                 .shared_bytes = rig_j.shared,
                                 .ranges = ranges,
                                 .range_count = 2,
                                 .seed = seed,
                                 .stack_bytes = J_STACK,
                                 .trace = rig_j.trace};

    trial.arch = groat__arch_find(rig_j.arch, strlen(rig_j.arch));
    ck_assert_ptr_nonnull(trial.arch);
    groat_error_clear(&rig_j.error);
    return groat__judge_run(&trial, &rig_j.error);
}

/* Asserts that the entry passes under every seed. */
static inline void j_passes(void (*entry)(const void *))
{
    for (uint64_t seed = 0; seed < J_SEEDS; seed++)
        ck_assert_msg(j_judge(entry, seed) == GROAT_OK, "seed %u: %s",
                      (unsigned)seed, rig_j.error.text);
}

/* Asserts a finding with one of the '|'-separated words, under every seed. */
static inline void j_reports(void (*entry)(const void *), const char *words)
{
    for (uint64_t seed = 0; seed < J_SEEDS; seed++) {
        groat_status status = j_judge(entry, seed);
        const char *at = words;
        bool found = false;

        ck_assert_msg(status == GROAT_JUDGED, "seed %u: '%s' not found: %d %s",
                      (unsigned)seed, words, (int)status, rig_j.error.text);
        while (*at != '\0' && !found) {
            char one[200];
            size_t len = strcspn(at, "|");

            (void)snprintf(one, sizeof(one), "%.*s", (int)len, at);
            found = strstr(rig_j.error.text, one) != NULL;
            at += len + (at[len] == '|');
        }
        ck_assert_msg(found, "seed %u: '%s' is not in '%s'", (unsigned)seed,
                      words, rig_j.error.text);
    }
}

/* ---- the calls that kernels make ----------------------------------------- */

static inline unsigned thread(void)
{
    return env->thread[0];
}

static inline unsigned rank(void)
{
    return env->cluster_rank;
}

static inline uint64_t device(const void *at)
{
    return (uint64_t)(uintptr_t)at;
}

static inline unsigned elect(void)
{
    return env->ops->elect(env);
}

static inline void warp_barrier(void)
{
    env->ops->warp_barrier(env);
}

static inline void block_barrier(void)
{
    env->ops->block_barrier(env, 0);
}

static inline void cluster_barrier(void)
{
    env->ops->cluster_barrier(env);
}

static inline void init(unsigned bar, unsigned count)
{
    env->ops->mbarrier_init(env, bar, count);
}

static inline void init_fence(void)
{
    env->ops->mbarrier_init_fence(env);
}

static inline void arrive(unsigned bar)
{
    env->ops->mbarrier_arrive(env, bar, rank(), 1);
}

static inline void arrive_peer(unsigned bar, unsigned at)
{
    env->ops->mbarrier_arrive(env, bar, at, 1);
}

static inline void expect(unsigned bar, unsigned bytes)
{
    env->ops->mbarrier_expect(env, bar, bytes);
    env->ops->mbarrier_arrive(env, bar, rank(), 1);
}

static inline void await(unsigned bar, unsigned parity)
{
    env->ops->mbarrier_wait(env, bar, parity);
}

static inline void proxy_fence(void)
{
    env->ops->async_proxy_fence(env);
}

static inline void load(unsigned to, unsigned bar, const int *at)
{
    env->ops->tma_load(env, &rig_j.map, to, bar, at, rig_j.map.rank,
                       GROAT_CPU_TMA_ONE, 0);
}

static inline void load_multicast(unsigned to, unsigned bar, const int *at,
                                  unsigned ctas)
{
    env->ops->tma_load(env, &rig_j.map, to, bar, at, rig_j.map.rank,
                       GROAT_CPU_TMA_MULTICAST, ctas);
}

static inline void bulk(unsigned to, unsigned from, unsigned bytes,
                        unsigned bar)
{
    env->ops->bulk_load(env, to, device(rig_j.device) + from, bytes, bar);
}

static inline uint32_t read4(unsigned at)
{
    uint32_t x;

    env->ops->shared_load(env, at, &x, 4);
    return x;
}

static inline void write4(unsigned at, uint32_t x)
{
    env->ops->shared_store(env, at, &x, 4);
}

static inline void put(unsigned index, uint32_t x)
{
    env->ops->global_store(env, device(rig_j.out) + 4ull * index, &x, 4);
}

/* Makes an mbarrier that the cluster and the engine see once made() returns. */
static inline void make(unsigned bar, unsigned count)
{
    if (thread() == 0)
        init(bar, count);
}

static inline void made(void)
{
    if (thread() == 0)
        init_fence();
    cluster_barrier();
}

/* All threads copy bytes [from, to) of shared memory to out, at offset `at`. */
static inline void dump(unsigned from, unsigned to, unsigned at)
{
    for (unsigned i = 4 * thread(); i < to - from; i += 4 * rig_j.threads)
        put((at + i) / 4, read4(from + i));
}

/* ---- maps -------------------------------------------------------------- */

/* Fastest dimension first; strides are in bytes, of dimensions 1 and up. */
static inline void j_map(unsigned rank_of, unsigned elem_bytes,
                         unsigned swizzle, const unsigned *dims,
                         const unsigned *strides, const unsigned *box)
{
    struct groat_cpu_tensor_map *m = &rig_j.map;

    memset(m, 0, sizeof(*m));
    m->magic = GROAT_CPU_TENSOR_MAP_MAGIC;
    m->address = device(rig_j.device);
    m->rank = rank_of;
    m->elem_bytes = elem_bytes;
    m->swizzle = swizzle;
    for (unsigned d = 0; d < 5; d++) {
        m->dims[d] = d < rank_of ? dims[d] : 1;
        m->box[d] = (unsigned short)(d < rank_of ? box[d] : 1);
    }
    for (unsigned d = 0; d + 1 < rank_of; d++)
        m->strides[d] = strides[d];
}

/* Maps rows of 64 packed 2-byte numbers; a box holds `box_rows` rows. */
static inline void j_rows(unsigned rows, unsigned box_rows)
{
    const unsigned dims[] = {64, rows};
    const unsigned strides[] = {128};
    const unsigned box[] = {64, box_rows};

    j_map(2, 2, GROAT_CPU_SWIZZLE_NONE, dims, strides, box);
}

#endif
