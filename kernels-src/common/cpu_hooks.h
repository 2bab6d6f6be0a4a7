/* SPDX-License-Identifier: Apache-2.0
 *
 * cpu_hooks.h - the interface between a kernel compiled for a cpu target and
 * the judge that runs it.  C and C++; shared by common/vendor_cpu.h and the
 * judge.  One environment serves one launch on one OS thread; the judge
 * rewrites its coordinates whenever it switches to another GPU thread's fiber.
 */
#pragma once

enum { GROAT_CPU_HOOKS_VERSION = 22 };

enum { GROAT_CPU_EXACT = 256 };

/* Element types of mfma. */
enum { GROAT_CPU_BF16, GROAT_CPU_F16, GROAT_CPU_FP8, GROAT_CPU_BF8 };

/* The blocks that a tensor copy reaches. */
enum {
    GROAT_CPU_TMA_ONE,       /* the issuer's block                       */
    GROAT_CPU_TMA_MULTICAST, /* the blocks of a mask                     */
    GROAT_CPU_TMA_PAIR       /* the issuer's block, its bytes counted on */
                             /* the barrier of the even block of its pair */
};

/* The result of an atomic operation on a word `old` and an operand x. */
enum {
    GROAT_CPU_ATOMIC_ADD,
    GROAT_CPU_ATOMIC_MIN,
    GROAT_CPU_ATOMIC_MAX,
    GROAT_CPU_ATOMIC_MIN_SIGNED,
    GROAT_CPU_ATOMIC_MAX_SIGNED,
    GROAT_CPU_ATOMIC_EXCHANGE,
    GROAT_CPU_ATOMIC_CAS, /* x if old equals `expected` */
    GROAT_CPU_ATOMIC_ADD_FLOAT
};

/* What an instruction belongs to: another library, a line of the kernel's, or
 * code that stands behind one. */
enum { GROAT_CPU_ELSEWHERE, GROAT_CPU_LINE, GROAT_CPU_BEHIND };

/* Whether a cluster runs again: its output was printed before. */
enum {
    GROAT_CPU_FIRST,
    GROAT_CPU_AGAIN,
    GROAT_CPU_AGAIN_COMPARING /* and reports its comparisons */
};

/* Kinds of plain access. */
enum {
    GROAT_CPU_READ,
    GROAT_CPU_WRITE,
    GROAT_CPU_ATOMIC,
    GROAT_CPU_VOLATILE_READ,
    GROAT_CPU_VOLATILE_WRITE
};

struct groat_cpu_env;

/* Memory areas of a kernel that accesses memory through pointers. */
struct groat_cpu_plain {
    const unsigned char *image; /* the kernel's code and constants */
    unsigned long image_bytes;
};

/* The number of the source's line, times _LINE, may be added. */
enum {
    GROAT_CPU_BARRIER_WAIT = 1,
    GROAT_CPU_BARRIER_ALIGNED = 2,
    GROAT_CPU_BARRIER_LINE = 4
};

/* None of these functions is sure to return: once a rule is broken, the judge
 * leaves the fiber for good. */
struct groat_cpu_ops {
    void (*shared_load)(struct groat_cpu_env *env, unsigned address, void *to,
                        unsigned bytes);
    void (*shared_store)(struct groat_cpu_env *env, unsigned address,
                         const void *from, unsigned bytes);
    void (*global_load)(struct groat_cpu_env *env, unsigned long long address,
                        void *to, unsigned bytes);
    void (*global_store)(struct groat_cpu_env *env, unsigned long long address,
                         const void *from, unsigned bytes);
    /* Bytes from num_records on are zeros, whole dwords or, with GROAT_CPU_EXACT
     * among `bytes`, each. */
    void (*async_copy)(struct groat_cpu_env *env, unsigned long long base,
                       unsigned num_records, unsigned shared_chunk,
                       unsigned lane, unsigned voffset, unsigned soffset,
                       unsigned bytes);
    void (*async_commit)(struct groat_cpu_env *env);
    void (*async_wait)(struct groat_cpu_env *env, unsigned ops,
                       unsigned groups);
    void (*shared_fence)(struct groat_cpu_env *env);
    /* `line` is where the source calls it: all lanes of a wave come from one
     * line, or from any if it is 0. */
    void (*block_barrier)(struct groat_cpu_env *env, unsigned line);
    unsigned (*wave_uniform)(struct groat_cpu_env *env, unsigned value);
    /* Loads bytes of a buffer into registers, zeros past num_records. */
    void (*buffer_load)(struct groat_cpu_env *env, unsigned long long base,
                        unsigned num_records, unsigned voffset,
                        unsigned soffset, void *to, unsigned bytes);
    /* ds_read_b64_tr: reads 8 bytes at `address`; 16 lanes exchange elements of
     * `width` bytes. */
    void (*transpose_load)(struct groat_cpu_env *env, unsigned address,
                           void *to, unsigned width);
    /* acc += A * B, m x m x k.  A lane has k * m / 64 numbers each of A and B,
     * and m * m / 64 floats of acc. */
    void (*mfma)(struct groat_cpu_env *env, unsigned number, unsigned m,
                 unsigned k, const void *a, const void *b, float *acc);
    /* NVIDIA, sm_90 and up.  `bar` is the shared-memory address of an mbarrier,
     * `rank` a block of the cluster. */
    unsigned (*elect)(struct groat_cpu_env *env); /* 1 in one lane of a warp */
    void (*warp_barrier)(struct groat_cpu_env *env);
    void (*cluster_barrier)(struct groat_cpu_env *env);
    void (*mbarrier_init)(struct groat_cpu_env *env, unsigned bar,
                          unsigned count);
    void (*mbarrier_inval)(struct groat_cpu_env *env, unsigned bar);
    void (*mbarrier_init_fence)(struct groat_cpu_env *env);
    /* `count` arrivals; returns the parity of the phase that they are of. */
    unsigned (*mbarrier_arrive)(struct groat_cpu_env *env, unsigned bar,
                                unsigned rank, unsigned count);
    /* Expects bytes in the phase of the next arrival. */
    void (*mbarrier_expect)(struct groat_cpu_env *env, unsigned bar,
                            unsigned bytes);
    void (*mbarrier_wait)(struct groat_cpu_env *env, unsigned bar,
                          unsigned parity);
    /* A wait that gives up, as each may: returns 0 at a thread's first call in a
     * phase that has not completed; its next call waits. */
    unsigned (*mbarrier_try)(struct groat_cpu_env *env, unsigned bar,
                             unsigned parity);
    /* Barrier `id` of the block, of `threads` threads: arrives, and waits for
     * the others if `how` has GROAT_CPU_BARRIER_WAIT; with _ALIGNED all lanes
     * of the warp come together. */
    void (*named_barrier)(struct groat_cpu_env *env, unsigned id,
                          unsigned threads, unsigned how);
    void (*async_proxy_fence)(struct groat_cpu_env *env);
    /* `map` is a struct groat_cpu_tensor_map, `at` has `rank` coordinates;
     * `reach` is a GROAT_CPU_TMA_*, `ctas` the mask of a multicast. */
    void (*tma_load)(struct groat_cpu_env *env, const void *map, unsigned to,
                     unsigned bar, const int *at, unsigned rank,
                     unsigned reach, unsigned ctas);
    void (*tma_prefetch)(struct groat_cpu_env *env, const void *map);
    void (*bulk_load)(struct groat_cpu_env *env, unsigned to,
                      unsigned long long from, unsigned bytes, unsigned bar);
    /* Copies from shared memory: to a box, or to device memory. */
    void (*tma_store)(struct groat_cpu_env *env, const void *map,
                      unsigned from, const int *at, unsigned rank);
    void (*bulk_store)(struct groat_cpu_env *env, unsigned long long to,
                       unsigned from, unsigned bytes);
    /* The thread's stores since the last call are a group. */
    void (*store_commit)(struct groat_cpu_env *env);
    /* Waits until all but the thread's youngest groups are done. */
    void (*store_wait)(struct groat_cpu_env *env, unsigned groups);
    void (*wgmma_fence)(struct groat_cpu_env *env);
    void (*wgmma_commit)(struct groat_cpu_env *env);
    void (*wgmma_wait)(struct groat_cpu_env *env, unsigned groups);
    /* acc = A * B, or acc += A * B; 64 x n x 32 bytes, n / 2 floats per thread.
     * `acc` is undefined until the wait, which fills it.  A is where desc_a
     * says or, if `a` is not NULL, in four words of each thread, as in
     * common/mma_sync.h. */
    void (*wgmma)(struct groat_cpu_env *env, unsigned number, unsigned n,
                  unsigned a_mn_major, unsigned b_mn_major,
                  unsigned long long desc_a, const unsigned *a,
                  unsigned long long desc_b, unsigned accumulate, float *acc);
    /* Reports an index outside of an array of type `array`; `from` is a return
     * address into the line that has it. */
    void (*out_of_bounds)(struct groat_cpu_env *env, const char *array,
                          long long index, const void *from);
    /* Returns the value of lane `lane` of the wave; all lanes take part. */
    unsigned (*shuffle)(struct groat_cpu_env *env, unsigned value,
                        unsigned lane);
    /* Returns a bit per lane of the wave: bit 0 of its predicate, whose other bits
     * must be the same in all lanes: 0, or the number of another vote. */
    unsigned long long (*ballot)(struct groat_cpu_env *env,
                                 unsigned predicate);
    /* Atomic operations on 4-byte words; they return the old value. */
    unsigned (*shared_atomic)(struct groat_cpu_env *env, unsigned address,
                              unsigned op, unsigned x, unsigned expected);
    unsigned (*global_atomic)(struct groat_cpu_env *env,
                              unsigned long long address, unsigned op,
                              unsigned x, unsigned expected);
    /* NVIDIA, sm_80 and up: see common/mma_sync.h. */
    void (*matrix_load)(struct groat_cpu_env *env, unsigned address, void *to,
                        unsigned transposed);
    void (*mma_16x8)(struct groat_cpu_env *env, unsigned number, const void *a,
                     const void *b, float *acc);
    /* Reports an access through a pointer, which the kernel makes itself once
     * this returns; `from` is the return address in the kernel's code. */
    void (*touch)(struct groat_cpu_env *env, const void *address,
                  unsigned long bytes, unsigned kind, const void *from);
    /* Ends the launch with a finding in the kernel's own words. */
    void (*refuse)(struct groat_cpu_env *env, const char *why,
                   const void *from);
    /* NVIDIA: sets the lanes that take part in this lane's next shuffle, ballot
     * or warp barrier.  Without a call all lanes of the warp do. */
    void (*take_lanes)(struct groat_cpu_env *env, unsigned long long mask);
    /* A block barrier; returns how many threads' predicates are not 0. */
    unsigned (*block_vote)(struct groat_cpu_env *env, unsigned predicate,
                           unsigned line);
    /* Loads from the shared memory of a block of the cluster. */
    void (*cluster_load)(struct groat_cpu_env *env, unsigned address,
                         unsigned rank, void *to, unsigned bytes);
    /* NVIDIA: returns the lanes of the warp that are at this call, once no
     * thread can come to it before they go on. */
    unsigned (*active_lanes)(struct groat_cpu_env *env);
    /* Reports a comparison of two values of `bytes` bytes; floats by their
     * bits. */
    void (*compared)(struct groat_cpu_env *env, unsigned long long a,
                     unsigned long long b, unsigned bytes);
    /* Reports a pointer that is no multiple of `unit`, as its type, whose name
     * is quoted, has to be.  Does not return. */
    void (*misaligned)(struct groat_cpu_env *env, const void *address,
                       unsigned unit, const char *type, const void *from);
    /* Waits until all earlier blocks of the grid have ended, and prints. */
    void (*print)(struct groat_cpu_env *env, const char *text,
                  unsigned long bytes);
};

struct groat_cpu_env {
    unsigned version; /* GROAT_CPU_HOOKS_VERSION of the judge */
    unsigned thread[3];
    unsigned block[3];
    unsigned grid[3];
    unsigned cluster_rank;
    unsigned again; /* GROAT_CPU_FIRST or another */
    unsigned cuda;  /* the kernel is CUDA C++: who ended at once is not missed */
    unsigned long long cycles; /* of the cluster; 1,024 for each look at them */
    const struct groat_cpu_ops *ops;
    unsigned char *shared; /* of a kernel that reports its accesses */
};
