/* SPDX-License-Identifier: Apache-2.0
 *
 * ptx.h - the PTX of a spec of a cuda target, made by the NVRTC that groat
 * found, for tests of the instructions in it.  Needs no GPU.
 */
#ifndef GROAT_TESTS_PTX_H
#define GROAT_TESTS_PTX_H

#include <dlfcn.h>

#include "tests/unit/suite.h"
#include "groat_tools.h"

typedef struct ptx_nvrtc {
    void *library;
    int (*create)(void **program, const char *source, const char *name,
                  int headers, const char *const *texts,
                  const char *const *names);
    int (*compile)(void *program, int count, const char *const *options);
    int (*size)(void *program, size_t *bytes);
    int (*get)(void *program, char *ptx);
    int (*destroy)(void **program);
} ptx_nvrtc;

/* Takes the path from "libnvrtc" and "PATH, version 13.0, ...". */
static inline void ptx_note_path(void *user, const char *subject, int usable,
                                 const char *line)
{
    char *path = user;

    if (usable && strcmp(subject, "libnvrtc") == 0)
        (void)snprintf(path, 1024, "%.*s", (int)strcspn(line, ","), line);
}

/* ISO C cannot convert an object pointer to a function pointer. */
static inline void ptx_symbol(void *library, const char *name, void *to)
{
    void *symbol = dlsym(library, name);

    ck_assert_msg(symbol != NULL, "NVRTC has no %s", name);
    memcpy(to, &symbol, sizeof(symbol));
}

/* Returns false where NVRTC is not found. */
static inline bool ptx_open(groat_context *context, ptx_nvrtc *n)
{
    char path[1024] = "";

    groat_doctor(context, ptx_note_path, path);
    n->library = path[0] == '\0' ? NULL : dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (n->library == NULL)
        return false;
    ptx_symbol(n->library, "nvrtcCreateProgram", &n->create);
    ptx_symbol(n->library, "nvrtcCompileProgram", &n->compile);
    ptx_symbol(n->library, "nvrtcGetPTXSize", &n->size);
    ptx_symbol(n->library, "nvrtcGetPTX", &n->get);
    ptx_symbol(n->library, "nvrtcDestroyProgram", &n->destroy);
    return true;
}

/* Returns the PTX for the spec's arch, e.g. sm_100a; the caller frees it. */
static inline char *ptx_of(const ptx_nvrtc *n, groat_spec *spec)
{
    char arch[64];
    const char *const options[] = {arch, "--std=c++17"};
    void *program = NULL;
    char *source = NULL;
    size_t bytes = 0;
    char *ptx;

    (void)snprintf(arch, sizeof(arch), "--gpu-architecture=compute_%s",
                   strchr(groat_spec_target(spec), '_') + 1);
    ck_assert_int_eq(groat_spec_source(spec, &source, NULL), GROAT_OK);
    ck_assert_int_eq(n->create(&program, source, "spec", 0, NULL, NULL), 0);
    ck_assert_msg(n->compile(program, 2, options) == 0, "%s is refused",
                  groat_spec_text(spec));
    ck_assert_int_eq(n->size(program, &bytes), 0);
    ptx = malloc(bytes + 1);
    ck_assert_ptr_nonnull(ptx);
    ck_assert_int_eq(n->get(program, ptx), 0);
    ptx[bytes] = '\0';
    (void)n->destroy(&program);
    groat_free(source);
    return ptx;
}

/* Returns how often an instruction occurs. */
static inline int ptx_count(const char *ptx, const char *instruction)
{
    int count = 0;

    for (const char *at = ptx; (at = strstr(at, instruction)) != NULL; at++)
        count++;
    return count;
}

#endif
