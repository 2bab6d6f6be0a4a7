/* SPDX-License-Identifier: Apache-2.0
 *
 * raw.h - the vendor's own calls, for `groat bench` to hold groat against.
 *
 * CUDA and HIP have these calls in the same shapes under other names, so one
 * table of names per backend is all that differs.
 */
#ifndef GROAT_CLI_BENCH_RAW_H
#define GROAT_CLI_BENCH_RAW_H

#include <stdbool.h>
#include <stddef.h>

typedef struct groat__raw {
    int (*launch)(void *function, unsigned gx, unsigned gy, unsigned gz,
                  unsigned bx, unsigned by, unsigned bz, unsigned shared,
                  void *stream, void **params, void **extra);
    int (*load)(void **module, const void *image);
    int (*function)(void **function, void *module, const char *name);
    int (*unload)(void *module);
    int (*create)(void **program, const char *source, const char *name,
                  int headers, const char **texts, const char **names);
    int (*compile)(void *program, int count, const char **options);
    int (*code_size)(void *program, size_t *bytes);
    int (*code)(void *program, char *code);
    int (*destroy)(void **program);
    int (*retain)(void **context, int device); /* NULL on hip */
    int (*make_current)(void *context);
    const char *arch_option; /* "--gpu-architecture=" */
    const char *no_cache;    /* "--no-cache"; NULL: there is nothing to say */
    void *runtime;           /* library handles, or NULL */
    void *compiler;
    void *context;
} groat__raw;

/* Opens the libraries that groat itself has opened already; what is missing
 * stays NULL.  backend is "cuda" or "hip"; anything else opens nothing. */
void groat__raw_open(const char *backend, int device, groat__raw *raw);
void groat__raw_close(groat__raw *raw);

/* Makes the device's context current on this thread, as a server's thread has
 * it.  False when it cannot. */
bool groat__raw_enter(const groat__raw *raw);

/* Compiles an empty kernel for arch, down to the binary; false on failure.
 * Each number is another kernel, compiled past NVRTC's own cache, as groat's
 * are: kernels that it kept would be had in a third of the time.  An NVRTC that
 * refuses the option for that (below 12.9) has no such cache, and is not told
 * again. */
bool groat__raw_compile_empty(groat__raw *raw, const char *arch,
                              unsigned number);

#endif
