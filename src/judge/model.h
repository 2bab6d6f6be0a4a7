/* SPDX-License-Identifier: Apache-2.0
 *
 * model.h - the state of the running cluster, shared by the files of the
 * judge.  A groat__judge belongs to one host thread of one launch, so only
 * grid.h needs a lock.
 *
 * A host thread runs one cluster after the other and interleaves its blocks.
 * Fibers, waves and blocks are numbered within the cluster; findings number
 * threads within their block.
 */
#ifndef GROAT_JUDGE_MODEL_H
#define GROAT_JUDGE_MODEL_H

#include <setjmp.h>
#include <stdbool.h>
#include <ucontext.h>

#include "judge/grid.h"
#include "judge/index.h"
#include "judge/judge.h"
#include "judge/spans.h"
#include "kernels-src/common/cpu_hooks.h"
#include "kernels-src/common/cpu_tensor_map.h"
#include "groat_tools.h"

enum {
    GROAT__JUDGE_UNWRITTEN = 32, /* places that read unwritten bytes         */
    GROAT__JUDGE_PARTNERS = 64,  /* values that unwritten bytes are compared */
                                 /* with                                     */
    GROAT__JUDGE_LANES = 64,     /* of the widest wave                       */
    GROAT__JUDGE_OPERAND = 32,   /* bytes of a lane in a wave-wide operation */
    GROAT__JUDGE_WARPGROUP = 4,  /* waves of a warpgroup                     */
    GROAT__JUDGE_CHUNK = 16,     /* bytes that swizzling keeps together      */
    GROAT__JUDGE_SAID = 96       /* size of a copy's name in a finding       */
};

/* IN_FLIGHT: a copy will land there; BARRIER: part of an mbarrier. */
typedef enum groat__byte_state {
    GROAT__UNWRITTEN = 0,
    GROAT__WRITTEN,
    GROAT__IN_FLIGHT,
    GROAT__BARRIER
} groat__byte_state;

/* The judge's record of one byte of shared memory. */
typedef struct groat__shadow {
    uint32_t writer; /* agent that wrote it or has a copy in flight */
    uint32_t write_clock;
    uint32_t readers; /* list of order.c; of a BARRIER: the mbarrier's index */
    int32_t site;     /* where it was written or the copy was issued */
    uint8_t state;
    bool atomic; /* WRITTEN by an atomic operation */
} groat__shadow;

/* One vector-memory operation that has not retired. */
typedef struct groat__flown {
    uint64_t source; /* device address; bytes from `inside` on become zero */
    uint32_t shared;
    uint32_t group;
    uint16_t bytes; /* 0: no copy, but it counts in vmcnt */
    uint16_t inside;
    int32_t site;
} groat__flown;

/* MEETING: stopped at a wait or a fence until its whole wave is there;
 * JOINED: stopped at an operation that needs all lanes of a wave or warpgroup;
 * WAITING: for a phase of an mbarrier. */
typedef enum groat__fiber_state {
    GROAT__READY,
    GROAT__MEETING,
    GROAT__JOINED,
    GROAT__WAITING,
    GROAT__AT_BARRIER,
    GROAT__AT_CLUSTER,
    GROAT__GATHERING, /* at a call of active_lanes() */
    GROAT__DONE
} groat__fiber_state;

/* A lane's operands of a wave-wide operation. */
typedef struct groat__brought {
    unsigned char a[GROAT__JUDGE_OPERAND];
    unsigned char b[GROAT__JUDGE_OPERAND];
    uint32_t kind; /* operation and shape, to be equal in all lanes */
} groat__brought;

/* A thread's accumulator registers of wgmma. */
typedef struct groat__product {
    float *registers;
    float *values; /* their result to come, or that of the last wait */
    uint32_t count;
    uint32_t group; /* youngest group that adds to them */
    bool in_flight;
} groat__product;

/* Bytes of a thread's own memory. */
typedef struct groat__own_write {
    uint64_t from;
    uint64_t to;
} groat__own_write;

/* Where a fiber, or the scheduler, resumes; see fiber.c. */
typedef struct groat__stand {
    ucontext_t context; /* starts a fiber, and holds its stack */
    jmp_buf jump;       /* where it resumes; valid once `left` is set */
    bool left;
} groat__stand;

enum { GROAT__WGMMA_A_BYTES = 16 };

typedef struct groat__fiber {
    groat__stand stand;
    groat__fiber_state state;
    groat__flown *flights; /* oldest first */
    size_t flight_count;
    size_t flight_cap;
    uint32_t group;    /* number of the group being filled */
    uint32_t uniforms; /* wave-uniform values since the last barrier */
    uint32_t accesses; /* traced since the wave last met */
    uint32_t left_out; /* not traced, since then */
    bool unfenced;     /* has shared-memory stores that no fence covered */
    int32_t site;      /* call site of the last hook, see groat__judge_at() */
    uint32_t line;     /* AT_BARRIER: where the source has it, or 0 */
    bool acts;         /* did more than load device memory */
    bool leads;        /* completes a warp operation without the lanes that *
                        * have ended                                        */
    /* Double-buffered: a lane may write the operands of its next operation
     * while others still read those of this one. */
    groat__brought brought[2];
    unsigned turn;
    uint64_t mask;  /* NVIDIA: lanes of the current or next shuffle, vote or
                     * warp barrier; 0: all                                */
    uint32_t given; /* value for that shuffle or vote */
    uint32_t asked; /* source lane of a shuffle */
    uint64_t answer;
    uint32_t awaited; /* WAITING: index of the mbarrier */
    uint32_t parity;
    bool polls;          /* WAITING: may go on without the phase */
    uint32_t vain_polls; /* since j->progress was polled_at */
    uint64_t polled_at;
    groat__product *products;
    size_t product_count;
    size_t target; /* product that the current wgmma adds to */
    unsigned char a[GROAT__WGMMA_A_BYTES]; /* its A, if that is in registers */
    bool wgmma_fenced;
    /* CUDA C++: what the thread wrote of its own memory since its last
     * wgmma_fence, up to a number of places. */
    groat__own_write *writes;
    size_t write_count;
    size_t write_cap;
    uint32_t stores; /* copies to device memory, which have numbers from 1 */
    /* Those that are not done: the first of those in no group, or 0, and of
     * each group, oldest first. */
    uint32_t open_store;
    uint32_t *store_groups;
    size_t store_group_count;
    size_t store_group_cap;
    void *asan_fake;
    void *tsan;
} groat__fiber;

/* Wave-uniform values as the first lane gave them; the others must agree. */
typedef struct groat__wave_log {
    uint64_t *values;
    size_t count;
    size_t cap;
} groat__wave_log;

/* One instruction of a wave, gathered lane by lane. */
typedef struct groat__traced {
    groat_access access;
    unsigned bytes;
    unsigned mbarrier;
    unsigned phase;
    uint64_t active;
    uint32_t shared[GROAT__JUDGE_LANES];
    uint64_t source[GROAT__JUDGE_LANES];
    uint64_t asked[GROAT__JUDGE_LANES];
} groat__traced;

typedef struct groat__wave_trace {
    groat__traced *items;
    size_t count;
    size_t cap;
    unsigned told; /* accesses of the wave reported so far */
} groat__wave_trace;

/* Lanes that come together at one instruction (NVIDIA). */
typedef enum groat__joint {
    GROAT__ELECT,
    GROAT__NAMED_BARRIER,
    GROAT__SHUFFLE,
    GROAT__WARP_BARRIER,
    GROAT__WARP_MATRIX,
    GROAT__WGMMA_FENCE,
    GROAT__WGMMA_COMMIT,
    GROAT__WGMMA_WAIT,
    GROAT__WGMMA
} groat__joint;

typedef struct groat__meeting {
    groat__joint joint;
    uint64_t detail[4]; /* operands that must be equal in all lanes */
    size_t came;        /* lanes that have arrived */
    size_t first;       /* fiber that arrived first */
    int32_t before[2];  /* sites that lanes came from the time before; equal
                         * where all came from one */
} groat__meeting;

/* The wgmma groups of one wave. */
typedef struct groat__wgmma_wave {
    uint32_t group;   /* being filled, from 1 */
    uint32_t retired; /* youngest that was waited for */
} groat__wgmma_wave;

typedef struct groat__mbarrier {
    uint32_t address;
    uint32_t rank; /* of its block */
    uint32_t count;
    uint32_t pending;  /* arrivals still missing in this phase */
    int64_t tx;        /* tx-count: bytes expected minus bytes arrived */
    uint64_t expected; /* bytes in this phase; so `arrived` and `issued` */
    uint64_t arrived;
    uint64_t issued;
    uint32_t phase;       /* phases completed */
    uint32_t maker;       /* fiber that initialized it */
    uint32_t made;        /* the maker's clock then */
    uint32_t fenced;      /* its clock at its mbarrier_init_fence, or NEVER */
    uint32_t *gathering;  /* vector clock: arrivals of this phase */
    uint32_t *done;       /* vector clock: completed phases */
    uint32_t *last_waits; /* by fiber: phases completed at its last wait */
    uint32_t *last_arrivals; /* by fiber: its clock at its last arrival */
    uint32_t *last_tries; /* by fiber: 1 + the phase of its last try in vain */
    unsigned named;       /* 1 + its number, of a barrier without memory */
} groat__mbarrier;

/* A copy by NVIDIA's copy engine.  It is counted when its bytes arrive; its
 * data lands when its phase completes. */
typedef struct groat__engine_copy {
    struct groat_cpu_tensor_map map; /* rank 0: contiguous bytes at address */
    int at[GROAT_CPU_TENSOR_MAP_RANK];
    uint32_t to;
    uint32_t bytes;
    uint32_t rank;    /* block that receives */
    uint32_t barrier; /* index */
    uint32_t phase;   /* of the barrier when it was issued */
    uint32_t issuer;  /* fiber */
    bool counted;
} groat__engine_copy;

typedef struct groat__copies {
    groat__engine_copy *items;
    size_t count;
    size_t cap;
} groat__copies;

enum { GROAT__NAMED_BARRIERS = 16 };

/* One block of the running cluster. */
typedef struct groat__judge_block {
    unsigned at[3]; /* in the grid */
    uint8_t *shared;
    groat__shadow *shadows;
    uint8_t *unwritten; /* by byte: first place that read it unwritten, or 0 */
    uint32_t epoch;     /* barriers passed, from 1 */
    unsigned votes[2];  /* at barriers, by the parity of their epoch */
    size_t ended;       /* threads that have ended */
    uint32_t named[GROAT__NAMED_BARRIERS]; /* 1 + index of the barrier, or 0 */
} groat__judge_block;

/* A list of the agents that read a byte since it was written, or, of atomic
 * operations, that wrote it otherwise before the first; see order.c. */
typedef struct groat__reader {
    uint32_t before; /* index of the rest of the list; 0 ends it */
    uint32_t agent;
    uint32_t clock;
    uint32_t length;
    int32_t site; /* of the read */
} groat__reader;

typedef struct groat__readers {
    groat__reader *items; /* [0] is the empty list */
    size_t count;
    size_t cap;
    uint32_t *buckets;
    size_t bucket_count;
    uint64_t *met; /* by agent: the last walk over a list that met it */
    size_t met_cap;
    uint64_t walk;
    groat__reader last; /* arguments of the last groat__judge_add_reader() */
    uint32_t result;    /* its result; 0: none */
} groat__readers;

/* An undo record: what device memory held before one write of the cluster. */
typedef struct groat__judge_kept {
    uint64_t address;
    uint32_t bytes;
    uint8_t held[GROAT__JUDGE_CHUNK];
} groat__judge_kept;

typedef struct groat__judge_log {
    groat__judge_kept *items;
    size_t count;
    size_t cap;
} groat__judge_log;

/* Places of loads, and the last load; of attempts.c. */
enum { GROAT__JUDGE_ATTEMPTS = 16 };

typedef struct groat__judge_attempts {
    int32_t sites[GROAT__JUDGE_ATTEMPTS];
    size_t count;
    uint32_t address; /* in shared memory */
    uint32_t calls;   /* of the judge, with that of the load */
    int32_t site;
} groat__judge_attempts;

/* A store through a pointer, which is told of before it happens and looked at
 * once it has: one that stores what is there is no fault. */
typedef struct groat__judge_held {
    uint8_t *at;
    size_t bytes;    /* 0: there is none */
    int32_t site;    /* of its thread when it was told of */
    bool device;     /* else shared memory, and it races: it has the finding */
    bool load;       /* it is a load of that, which an atomic may confirm */
    bool waits;      /* the running hook comes before the store */
    bool waited;     /* one did */
    uint8_t *before; /* what was there */
    size_t cap;      /* of `before` */
    groat__judge_finding finding;
} groat__judge_held;

/* PLAIN: stored to by others than atomic operations; CHANGED: one of these did
 * not store what was there; LAST_CHANGED: nor did the last one; ATOMIC_FIRST:
 * by an atomic operation that is the cluster's first. */
enum {
    GROAT__DEVICE_READ = 1,
    GROAT__DEVICE_PLAIN = 2,
    GROAT__DEVICE_ATOMIC = 4,
    GROAT__DEVICE_CHANGED = 8,
    GROAT__DEVICE_LAST_CHANGED = 16,
    GROAT__DEVICE_ATOMIC_FIRST = 32
};

/* An access.  `meets` counts the cluster's atomic and volatile accesses before
 * it, `global` those of device memory. */
typedef struct groat__device_use {
    uint32_t fiber;
    int32_t site;
    uint32_t meets;
    uint32_t global;
} groat__device_use;

/* The running cluster's accesses to 16, 4 or 1 bytes of device memory, as the
 * smallest of them. */
typedef struct groat__device_cell {
    groat__device_use first_load;
    groat__device_use last_load;
    groat__device_use first_store; /* plain ones; of none, atomic ones */
    groat__device_use last_store;
    uint32_t clock;   /* of the last plain store */
    uint32_t atomics; /* atomic operations on the cell since that */
    uint32_t readers; /* since that and the last of `meets`; of order.c */
    uint32_t state;
} groat__device_cell;

/* 16 bytes of device memory. */
typedef struct groat__device_line {
    groat__device_cell whole; /* of all 16 bytes, if that is the unit */
    uint32_t first;           /* else the number of the first cell */
    uint32_t unit;            /* bytes of a cell; 0: not touched */
    uint8_t values[GROAT__JUDGE_CHUNK]; /* last stored by plain stores */
    uint16_t changed; /* bytes that one of these changed, a bit each */
    uint16_t last;    /* that the last one did */
    bool kept;        /* by groat__judge_grid_keep() */
} groat__device_line;

typedef struct groat__device_page {
    uint64_t key; /* address / bytes of a page */
    groat__device_line lines[64];
} groat__device_page;

typedef struct groat__device {
    groat__device_page **pages; /* the first `count` are in use */
    size_t count;
    size_t cap;
    size_t made;
    groat__device_page *last;  /* the last one that was looked up, or NULL */
    groat__device_cell *cells; /* of lines that are split */
    size_t cell_count;
    size_t cell_cap;
    groat__index index; /* of pages, from 1, by their keys */
    uint32_t meets;
    uint32_t global;
} groat__device;

/* A comparison that a cluster made; floats by their bits. */
typedef struct groat__judge_comparison {
    uint64_t a;
    uint64_t b;
    uint32_t bytes;
} groat__judge_comparison;

/* Reads of unwritten shared memory, see unwritten.c. */
typedef struct groat__judge_unwritten {
    struct {
        int32_t site;
        groat__judge_finding finding; /* reported if the value matters */
    } places[GROAT__JUDGE_UNWRITTEN];
    size_t count;
    groat__judge_log log;
    size_t tried;   /* place whose bytes are filled with `value`; 0: none */
    uint64_t value; /* of 8 bytes from a multiple of 8 */
    uint64_t partners[GROAT__JUDGE_PARTNERS]; /* see partners.h */
    size_t partner_count;
    int pass;
    groat__judge_comparison *compared; /* of the second pass */
    size_t compared_count;
    size_t compared_cap;
    size_t compared_at; /* the next one of the third pass */
} groat__judge_unwritten;

typedef struct groat__judge {
    struct groat_cpu_env env; /* first: hooks get a pointer to it */
    const groat__judge_launch *launch;
    groat__judge_grid *grid;              /* of the launch */
    uint64_t number;                      /* of the cluster in the grid */
    void (*body)(struct groat__judge *j); /* runs on each fiber */
    groat__judge_block *blocks;
    size_t block_count; /* of a cluster */
    groat__judge_block *block;
    groat__fiber *fibers;
    size_t threads; /* of a block */
    size_t fiber_count;
    size_t current;
    groat__wave_log *waves;
    groat__wave_trace *traces;
    groat__meeting *meetings; /* of each wave, then of each warpgroup, then of
                               * the lanes of a mask, by the first to arrive  */
    groat__wgmma_wave *wgmma;

    size_t wave_count;  /* of the cluster */
    size_t block_waves; /* of a block */
    groat__mbarrier *barriers;
    size_t barrier_count;
    size_t barrier_cap;
    uint64_t progress;    /* arrivals and copies that were counted */
    groat__copies copies; /* in flight, oldest first */
    groat__copies landed; /* a ring of the last ones, for findings */
    groat__readers readers;
    uint32_t *clocks; /* vector clocks, or NULL; in use while clocks_on */
    uint32_t *meet;   /* scratch: a warpgroup's or a block's combined clock */
    float *operands;  /* scratch: A and B of a wgmma */
    size_t clock_width;
    uint8_t *stacks;
    uintptr_t stack_end; /* of the current fiber; hooks need what is below it */
    groat__stand home;
    void *asan_home;
    const void *home_bottom;
    size_t home_bytes;
    void *tsan_home;
    uint64_t random;
    uint64_t end_ns;       /* of a launch with a bound on its time */
    uint64_t start_ns;     /* of the cluster's last run */
    uint32_t calls;        /* of hooks */
    uint32_t calls_before; /* when a signal came last */
    uint32_t spared;       /* signals that were left to hooks */
    uint64_t path;         /* hash of the hook calls and their addresses */
    groat__judge_unwritten unwritten;
    groat__judge_held held;
    groat__judge_attempts attempts;
    groat__device device;
    groat__spans spans; /* of the clusters that this host thread has run */
    bool clocks_on;
    bool late;   /* failed because the launch exceeded its time */
    bool failed; /* with the finding, or because an earlier cluster failed */
    groat__judge_finding finding;
} groat__judge;

/* held.c: reports a store that is held and races, unless it left memory as it
 * was. */
void groat__judge_settle_store(groat__judge *j);

static inline groat__judge *groat__judge_of(struct groat_cpu_env *env)
{
    return (groat__judge *)(void *)env;
}

/* Leaves the fiber if the launch exceeded its time or an earlier cluster has a
 * finding.  In time_limit.c. */
void groat__judge_check_time(groat__judge *j);
/* fiber.c: reports that little of the current fiber's stack is left. */
_Noreturn void groat__judge_overflow(groat__judge *j);

static inline void groat__judge_follow(groat__judge *j, uint64_t step)
{
    enum { HALF = 32 };

    j->path = (j->path ^ step ^ step >> HALF) * 0x9E3779B97F4A7C15u;
}

/* Whether accesses are traced; those of a cluster that runs again are not. */
static inline bool groat__judge_tells(const groat__judge *j)
{
    return j->launch->trace != NULL && !j->env.again;
}

/* A hook's first step: records its call site in the kernel, as the distance of
 * the return address from the kernel's entry. */
static inline groat__judge *groat__judge_at(struct groat_cpu_env *env,
                                            const void *from)
{
    groat__judge *j = groat__judge_of(env);

    if (j->held.bytes != 0 && !j->held.waits)
        groat__judge_settle_store(j);
    j->fibers[j->current].site =
        (int32_t)((intptr_t)from - (intptr_t)j->launch->entry);
    j->fibers[j->current].acts = true;
    groat__judge_follow(j, (uint32_t)j->fibers[j->current].site ^
                               (uint64_t)j->current << 32);
    if ((++j->calls & 0xffff) == 0)
        groat__judge_check_time(j);
    if ((uintptr_t)__builtin_frame_address(0) < j->stack_end)
        groat__judge_overflow(j);
    return j;
}

#define groat__judge_enter(env)                                                \
    groat__judge_at((env), __builtin_return_address(0))

/* Whether an address is one of the kernel's own variables and constants. */
static inline bool groat__judge_is_in_image(const groat__judge_launch *launch,
                                            uint64_t address)
{
    return address - (uint64_t)(uintptr_t)launch->plain.image <
           launch->plain.image_bytes;
}

static inline bool groat__judge_is_amd(const groat__judge *j)
{
    return j->launch->arch->vendor == GROAT__HIP;
}

static inline groat__fiber *groat__judge_fiber(const groat__judge *j)
{
    return &j->fibers[j->current];
}

/* Whether a thread has ended without any part in what its block does: CUDA's
 * barriers and warp operations then pass without it. */
static inline bool groat__judge_is_absent(const groat__judge *j, size_t fiber)
{
    return j->env.cuda != 0 && j->fibers[fiber].state == GROAT__DONE &&
           !j->fibers[fiber].acts;
}

/* Map a fiber to its block's rank, its thread there, its wave in the cluster.
 */
static inline size_t groat__judge_rank_of(const groat__judge *j, size_t fiber)
{
    return fiber / j->threads;
}

static inline size_t groat__judge_thread_of(const groat__judge *j, size_t fiber)
{
    return fiber % j->threads;
}

static inline size_t groat__judge_wave_of(const groat__judge *j, size_t fiber)
{
    return groat__judge_rank_of(j, fiber) * j->block_waves +
           groat__judge_thread_of(j, fiber) /
               (size_t)j->launch->arch->wave_lanes;
}

static inline size_t groat__judge_lane(const groat__judge *j)
{
    return groat__judge_thread_of(j, j->current) %
           (size_t)j->launch->arch->wave_lanes;
}

/* Returns the end of the fibers [*first, end) of `count` waves from `wave`. */
static inline size_t groat__judge_lanes(const groat__judge *j, size_t wave,
                                        size_t count, size_t *first)
{
    size_t lanes = (size_t)j->launch->arch->wave_lanes;
    size_t rank = wave / j->block_waves;
    size_t end = (rank + 1) * j->threads;

    *first = rank * j->threads + wave % j->block_waves * lanes;
    return *first + count * lanes < end ? *first + count * lanes : end;
}

#endif
