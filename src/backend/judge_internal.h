/* SPDX-License-Identifier: Apache-2.0
 *
 * judge_internal.h - what the files of the judge share.  A judge belongs to one
 * launch on one OS thread; there is nothing to lock.
 */
#ifndef GROAT_BACKEND_JUDGE_INTERNAL_H
#define GROAT_BACKEND_JUDGE_INTERNAL_H

#include <stdbool.h>
#include <ucontext.h>

#include "backend/judge.h"
#include "kernels-src/common/cpu_hooks.h"

enum {
    GROAT__JUDGE_LANES = 64,  /* of the widest wave                     */
    GROAT__JUDGE_OPERAND = 32 /* bytes of a lane in a wave-wide operation */
};

typedef enum groat__byte_state {
    GROAT__UNWRITTEN = 0,
    GROAT__WRITTEN,
    GROAT__IN_FLIGHT
} groat__byte_state;

/* What is known of one byte of shared memory. */
typedef struct groat__shadow {
    uint32_t write_epoch;
    uint32_t read_epoch;
    uint16_t writer; /* thread that wrote it or has a copy in flight */
    uint16_t reader; /* thread, or many, in read_epoch               */
    uint8_t state;
} groat__shadow;

/* One vector-memory operation that has not retired. */
typedef struct groat__flown {
    uint64_t source; /* device address; dwords from `inside` on are zero */
    uint32_t shared;
    uint32_t group;
    uint16_t bytes; /* 0: one that only counts */
    uint16_t inside;
} groat__flown;

/* MEETING: stopped at a wait or a fence until its whole wave is there;
 * JOINED: at an operation that all lanes of a wave must take part in. */
typedef enum groat__fiber_state {
    GROAT__READY,
    GROAT__MEETING,
    GROAT__JOINED,
    GROAT__AT_BARRIER,
    GROAT__DONE
} groat__fiber_state;

/* What a lane brings to a wave-wide operation. */
typedef struct groat__brought {
    unsigned char a[GROAT__JUDGE_OPERAND];
    unsigned char b[GROAT__JUDGE_OPERAND];
    uint32_t kind; /* operation and shape, to be equal in all lanes */
} groat__brought;

typedef struct groat__fiber {
    ucontext_t context;
    groat__fiber_state state;
    groat__flown *flights; /* oldest first */
    size_t flight_count;
    size_t flight_cap;
    uint32_t group;    /* number of the group being filled */
    uint32_t uniforms; /* wave-uniform values since the last barrier */
    uint32_t accesses; /* traced, since the wave last met */
    bool unfenced;     /* shared-memory stores that no fence covered */
    /* Two, in turn: a lane may bring for its next operation while others still
     * read what it brought for this one. */
    groat__brought brought[2];
    unsigned turn;
    void *asan_fake;
    void *tsan;
} groat__fiber;

/* Values that the first lane to come laid down for the others. */
typedef struct groat__wave_log {
    uint64_t *values;
    size_t count;
    size_t cap;
} groat__wave_log;

/* One instruction of a wave while its lanes come by. */
typedef struct groat__traced {
    groat_access access;
    unsigned bytes;
    uint64_t active;
    uint32_t shared[GROAT__JUDGE_LANES];
    uint64_t source[GROAT__JUDGE_LANES];
    uint64_t asked[GROAT__JUDGE_LANES];
} groat__traced;

typedef struct groat__wave_trace {
    groat__traced *items;
    size_t count;
    size_t cap;
    unsigned told; /* instructions of the wave that were reported */
} groat__wave_trace;

typedef struct groat__judge {
    struct groat_cpu_env env; /* first: hooks get a pointer to it */
    const groat__trial *trial;
    uint8_t *shared;
    groat__shadow *shadows;
    groat__fiber *fibers;
    size_t threads;
    size_t current;
    uint32_t epoch; /* barriers passed in this block, from 1 */
    groat__wave_log *waves;
    groat__wave_trace *traces;
    size_t wave_count;
    uint8_t *stacks;
    ucontext_t home;
    void *asan_home;
    const void *home_bottom;
    size_t home_bytes;
    void *tsan_home;
    uint64_t random;
    bool failed;
    bool no_memory;
    char finding[GROAT_ERROR_TEXT];
} groat__judge;

static inline groat__judge *groat__judge_of(struct groat_cpu_env *env)
{
    return (groat__judge *)(void *)env;
}

static inline bool groat__judge_is_amd(const groat__judge *j)
{
    return j->trial->arch->vendor == GROAT__HIP;
}

static inline groat__fiber *groat__judge_fiber(const groat__judge *j)
{
    return &j->fibers[j->current];
}

static inline size_t groat__judge_wave(const groat__judge *j)
{
    return j->current / (size_t)j->trial->arch->wave_lanes;
}

/* judge.c: leaves the fiber for good, the launch with a finding. */
_Noreturn void groat__judge_convict(groat__judge *j, const char *format, ...)
    GROAT_PRINTF(2, 3);
_Noreturn void groat__judge_starve(groat__judge *j); /* of host memory */
/* Gives way to the other lanes; returns when the whole wave has come. */
void groat__judge_meet(groat__judge *j, groat__fiber_state where);

/* judge_memory.c: the hooks of cpu_hooks.h with these names. */
void groat__judge_shared_load(struct groat_cpu_env *env, unsigned address,
                              void *to, unsigned bytes);
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
/* Reads `bytes` at `address` with all checks, as `access`. */
void groat__judge_read(groat__judge *j, uint32_t address, void *to,
                       uint32_t bytes, groat_access access);
/* A thread may not end with copies in flight. */
void groat__judge_check_end(groat__judge *j);

/* judge_wave.c: likewise. */
unsigned groat__judge_wave_uniform(struct groat_cpu_env *env, unsigned value);
void groat__judge_transpose_load(struct groat_cpu_env *env, unsigned address,
                                 void *to, unsigned width);
void groat__judge_mfma(struct groat_cpu_env *env, unsigned number, unsigned m,
                       unsigned k, const void *a, const void *b, float *acc);
/* Convicts where another lane of the wave brought another value here. */
void groat__judge_uniform(groat__judge *j, uint64_t value, const char *what);

/* The hooks of NVIDIA's sm_90 and up, likewise. */
unsigned groat__judge_elect(struct groat_cpu_env *env);
void groat__judge_warp_barrier(struct groat_cpu_env *env);
void groat__judge_cluster_barrier(struct groat_cpu_env *env);
void groat__judge_mbarrier_init(struct groat_cpu_env *env, unsigned bar,
                                unsigned count);
void groat__judge_mbarrier_init_fence(struct groat_cpu_env *env);
void groat__judge_mbarrier_arrive(struct groat_cpu_env *env, unsigned bar,
                                  unsigned rank);
void groat__judge_mbarrier_expect(struct groat_cpu_env *env, unsigned bar,
                                  unsigned bytes);
void groat__judge_mbarrier_wait(struct groat_cpu_env *env, unsigned bar,
                                unsigned parity);
void groat__judge_async_proxy_fence(struct groat_cpu_env *env);
void groat__judge_tma_load(struct groat_cpu_env *env, const void *map,
                           unsigned to, unsigned bar, const int *at,
                           unsigned rank, unsigned reach, unsigned ctas);
void groat__judge_tma_prefetch(struct groat_cpu_env *env, const void *map);
void groat__judge_bulk_load(struct groat_cpu_env *env, unsigned to,
                            unsigned long long from, unsigned bytes,
                            unsigned bar);
void groat__judge_wgmma_fence(struct groat_cpu_env *env);
void groat__judge_wgmma_commit(struct groat_cpu_env *env);
void groat__judge_wgmma_wait(struct groat_cpu_env *env, unsigned groups);
void groat__judge_wgmma(struct groat_cpu_env *env, unsigned number, unsigned n,
                        unsigned a_mn_major, unsigned b_mn_major,
                        unsigned long long desc_a, unsigned long long desc_b,
                        unsigned accumulate, float *acc);

/* judge_trace.c: notes one lane's access; a copy asks for a device address and
 * reads there or, out of range, nothing. */
void groat__judge_note(groat__judge *j, groat_access access, uint32_t shared,
                       uint32_t bytes, uint64_t asked, bool reads);
/* Reports what the lanes of a wave noted since it last met. */
void groat__judge_tell(groat__judge *j, size_t wave);

#endif
