/* SPDX-License-Identifier: Apache-2.0
 *
 * raw.h - the vendor's own calls, the reference of `groat bench`.
 *
 * These calls have the same signatures in CUDA and HIP, so backends differ only
 * in a table of names.
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
    const char *no_cache;    /* "--no-cache"; NULL: no such option */
    void *runtime;           /* library handles, or NULL */
    void *compiler;
    void *context;
} groat__raw;

/* Opens the libraries that groat has already loaded; missing calls are NULL.
 * backend is "cuda" or "hip"; anything else opens nothing. */
void groat__raw_open(const char *backend, int device, groat__raw *raw);
void groat__raw_close(groat__raw *raw);

/* Makes the device's context current on this thread, as in a server's thread.
 * Returns false on failure. */
bool groat__raw_enter(const groat__raw *raw);

/* Compiles an empty kernel for arch, down to the binary; false on failure.
 * Each number is another kernel.  NVRTC's own cache is bypassed, as groat does:
 * a cached compile would take a third of the time.  An NVRTC that refuses the
 * option for that (below 12.9) has no cache; the option is then dropped. */
bool groat__raw_compile_empty(groat__raw *raw, const char *arch,
                              unsigned number);

#endif
