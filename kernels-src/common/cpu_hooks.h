/* SPDX-License-Identifier: Apache-2.0
 *
 * cpu_hooks.h - what a kernel compiled for a cpu target asks of the judge that
 * runs it.  C and C++; shared by common/vendor_cpu.h and the judge.  One
 * environment serves one launch on one OS thread; the judge rewrites its
 * coordinates whenever it switches to another GPU thread's fiber.
 */
#pragma once

enum { GROAT_CPU_HOOKS_VERSION = 2 };

/* Numbers that mfma multiplies. */
enum { GROAT_CPU_BF16, GROAT_CPU_F16, GROAT_CPU_FP8 };

struct groat_cpu_env;

/* Every function may not return: the judge leaves a fiber for good once a rule
 * is broken. */
struct groat_cpu_ops {
    void (*shared_load)(struct groat_cpu_env *env, unsigned address, void *to,
                        unsigned bytes);
    void (*shared_store)(struct groat_cpu_env *env, unsigned address,
                         const void *from, unsigned bytes);
    void (*global_load)(struct groat_cpu_env *env, unsigned long long address,
                        void *to, unsigned bytes);
    void (*global_store)(struct groat_cpu_env *env, unsigned long long address,
                         const void *from, unsigned bytes);
    void (*async_copy)(struct groat_cpu_env *env, unsigned long long base,
                       unsigned num_records, unsigned shared_chunk,
                       unsigned lane, unsigned voffset, unsigned soffset,
                       unsigned bytes);
    void (*async_commit)(struct groat_cpu_env *env);
    void (*async_wait)(struct groat_cpu_env *env, unsigned ops,
                       unsigned groups);
    void (*shared_fence)(struct groat_cpu_env *env);
    void (*block_barrier)(struct groat_cpu_env *env);
    unsigned (*wave_uniform)(struct groat_cpu_env *env, unsigned value);
    /* Bytes of a buffer into registers, zeros past num_records. */
    void (*buffer_load)(struct groat_cpu_env *env, unsigned long long base,
                        unsigned num_records, unsigned voffset,
                        unsigned soffset, void *to, unsigned bytes);
    /* ds_read_b64_tr: 8 bytes at `address`, elements of `width` bytes exchanged
     * among 16 lanes. */
    void (*transpose_load)(struct groat_cpu_env *env, unsigned address,
                           void *to, unsigned width);
    /* acc += A * B, m x m x k; a lane's k * m / 64 numbers of A and B and its
     * m * m / 64 floats of acc. */
    void (*mfma)(struct groat_cpu_env *env, unsigned number, unsigned m,
                 unsigned k, const void *a, const void *b, float *acc);
};

struct groat_cpu_env {
    unsigned version; /* GROAT_CPU_HOOKS_VERSION of the judge */
    unsigned thread[3];
    unsigned block[3];
    unsigned grid[3];
    const struct groat_cpu_ops *ops;
};
