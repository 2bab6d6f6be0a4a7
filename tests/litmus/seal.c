/* SPDX-License-Identifier: Apache-2.0
 *
 * seal.c: core/seal.c, in every execution that C11's memory model allows.  With
 * EPOCH a kernel is added to the table while a reader notes its name as absent:
 * once it is there, this note refuses no get.  Otherwise a fallback is
 * replaced, and the previous one unloaded, while a reader takes it: the
 * reader's kernel stays loaded.  With LISTED it is the first of its family,
 * which the reader finds or not.
 */
#include "tests/litmus/small.h"

void __VERIFIER_assume(int);
typedef int pthread_cond_t;

/* Conditions are not modelled, see counts.c. */
#define pthread_cond_wait(cond, mutex) ((void)(cond), __VERIFIER_assume(0), 0)
#define pthread_cond_broadcast(cond)   ((void)(cond), 0)
/* Names of families and targets have one byte or none. */
#define strcspn(text, ends)      ((size_t)((text)[0] != 0))
#define strcmp(a, b)             ((a)[0] - (b)[0])
#define GROAT__TABLE_FIRST_SLOTS 2
#include "src/core/resident.c"
#include "src/core/seal.c"
#include "src/core/table.c"

static groat_context context;
static groat_kernel kernels[2];
static int there[2]; /* not atomic: a race is an error */
static volatile unsigned process = 1;

#ifdef EPOCH
static const unsigned char letter = 1;
static const groat__kernel_name name = {&letter, 1, &letter, 0};

static void *change(void *unused)
{
    groat__kernel_table_add(&context.table, &name, &kernels[0], 100);
    groat__seal_renew(&context.seal);
    return unused;
}

static void *look(void *unused)
{
    uint64_t mark = groat__seal_mark(&context.seal, &name);

    if (groat__kernel_table_find(&context.table, &name) == NULL)
        (void)groat__seal_note(&context.seal, mark);
    return unused;
}

static void check(void)
{
    uint64_t mark = groat__seal_mark(&context.seal, &name);

    assert(!groat__seal_has(&context.seal, mark));
}
#else
static bool is_idle(void *state, groat__module *module)
{
    (void)state;
    (void)module;
    return true;
}

static void unload(void *state, groat__module *module)
{
    (void)state;
    *(int *)module = 0;
}

static groat__device device = {.idle = is_idle, .unload = unload};

static void set(groat_kernel *kernel)
{
    groat_kernel *before;

    if (groat__seal_set_fallback(&context.seal, kernel, &before, NULL) ==
        GROAT_OK)
        groat_kernel_release(before);
}

static void *change(void *unused)
{
    set(&kernels[1]);
    return unused;
}

static void *look(void *unused)
{
    fallback *f = find_fallback(&context.seal, "f", 1, "t");

    if (f != NULL) {
        groat_kernel *kernel = take_fallback(f);

        assert(there[kernel - kernels] == 1);
        groat__resident_drop(kernel);
    }
    return unused;
}

static void check(void)
{
}
#endif

static void make_kernels(void)
{
    for (int i = 0; i < 2; i++) {
        groat_kernel *kernel = &kernels[i];

        there[i] = 1;
        kernel->context = &context;
        kernel->spec = "f";
        kernel->target = "t";
        kernel->module = (groat__module *)&there[i];
        kernel->bytes = 2;
        atomic_init(&kernel->refs, 2); /* the context's and the fallback's */
#ifndef EPOCH
        kernel->device = &device;
#endif
    }
    kernels[0].next = &kernels[1];
    context.kernels = &kernels[0];
    context.process.page = &process;
    context.resident.max_bytes = 1;
    atomic_init(&context.resident.bytes, 4);
}

int main(void)
{
    pthread_t changes, looks;

    if (pthread_mutex_init(&context.lock, NULL) != 0)
        return 1;
    make_kernels();
#if !defined(EPOCH) && !defined(LISTED)
    set(&kernels[0]);
#endif
    if (pthread_create(&changes, NULL, change, NULL) != 0 ||
        pthread_create(&looks, NULL, look, NULL) != 0 ||
        pthread_join(changes, NULL) != 0)
        return 1;
    check();
    return 0;
}
