/* SPDX-License-Identifier: Apache-2.0
 *
 * test_hits.c counts the allocations, locks and system calls of a get, over a
 * million gets of each kind that memory answers.  There are none.
 *
 * This program's own malloc and pthread functions replace those of libc for
 * everything in the process.  System calls are trapped by a filter in the child
 * that counts, which lets only the return of a handler and the exit of the
 * process through.
 */
#include "rig.h"

#include <dlfcn.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "core/metrics.h"
#include "core/tally.h"
#include "groat_serve.h"

enum { HITS = 1000000 };

typedef struct counts {
    uint64_t allocations;
    uint64_t locks;
    uint64_t calls;
    int first_call; /* number of the first one */
} counts;

static counts now;
static volatile bool counting;

/* Sanitizers replace the same functions, and make system calls. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif

/* ---- in front of libc -----------------------------------------------------
 */

#ifndef SANITIZED

/* The functions beneath glibc's malloc and its relatives. */
extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t bytes);
extern void *__libc_realloc(void *memory, size_t bytes);
extern void *__libc_memalign(size_t alignment, size_t bytes);
extern void __libc_free(void *memory);

GROAT_API void *malloc(size_t bytes)
{
    now.allocations += counting;
    return __libc_malloc(bytes);
}

GROAT_API void *calloc(size_t count, size_t bytes)
{
    now.allocations += counting;
    return __libc_calloc(count, bytes);
}

GROAT_API void *realloc(void *memory, size_t bytes)
{
    now.allocations += counting;
    return __libc_realloc(memory, bytes);
}

GROAT_API void *aligned_alloc(size_t alignment, size_t bytes)
{
    now.allocations += counting;
    return __libc_memalign(alignment, bytes);
}

GROAT_API int posix_memalign(void **out, size_t alignment, size_t bytes)
{
    void *memory = aligned_alloc(alignment, bytes);

    if (memory == NULL)
        return ENOMEM;
    *out = memory;
    return 0;
}

GROAT_API void free(void *memory)
{
    now.allocations += counting && memory != NULL;
    __libc_free(memory);
}

/* GROAT_API exports it, so that SQLite and libc call it, too.  Defines a
 * function of pthread.h that counts and then calls libc's. */
#define LOCK(name, type)                                                       \
    GROAT_API int name(type *lock)                                             \
    {                                                                          \
        static int (*next)(type *);                                            \
                                                                               \
        now.locks += counting;                                                 \
        if (next == NULL)                                                      \
            *(void **)&next = dlsym(RTLD_NEXT, #name);                         \
        return next(lock);                                                     \
    }

LOCK(pthread_mutex_lock, pthread_mutex_t)
LOCK(pthread_mutex_trylock, pthread_mutex_t)
LOCK(pthread_rwlock_rdlock, pthread_rwlock_t)
LOCK(pthread_rwlock_tryrdlock, pthread_rwlock_t)
LOCK(pthread_rwlock_wrlock, pthread_rwlock_t)
LOCK(pthread_rwlock_trywrlock, pthread_rwlock_t)
LOCK(pthread_spin_lock, pthread_spinlock_t)
LOCK(pthread_spin_trylock, pthread_spinlock_t)

#endif

static void on_call(int signal, siginfo_t *info, void *context)
{
    (void)signal;
    (void)context;
    if (now.calls++ == 0)
        now.first_call = info->si_syscall;
}

/* From here on each system call becomes a call of on_call().  Returns false
 * where the system forbids that. */
static bool trap_calls(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigreturn, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
    };
    const struct sock_fprog program = {COUNT(filter), filter};
    struct sigaction action = {.sa_flags = SA_SIGINFO};

    action.sa_sigaction = on_call;
    return sigaction(SIGSYS, &action, NULL) == 0 &&
           prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/* ---- gets -----------------------------------------------------------------
 */

static rig fix;
static const char target[] = "cpu:gfx950";
static const char text[] = "adder:step=3";

/* The object of a get. */
typedef struct question {
    groat_context *context;
    groat_spec *spec;
    groat_request *request;
    groat_kernel *kernel; /* the expected answer */
} question;

static bool by_text(const question *q)
{
    groat_origin origin = GROAT_FROM_COMPILER;
    groat_kernel *kernel = NULL;
    groat_status status =
        groat_kernel_get(q->context, text, target, &kernel, &origin, NULL);

    groat_kernel_release(kernel);
    return status == GROAT_OK && kernel == q->kernel &&
           origin == GROAT_FROM_MEMORY;
}

static bool by_spec(const question *q)
{
    groat_origin origin = GROAT_FROM_COMPILER;
    groat_kernel *kernel = NULL;
    groat_status status =
        groat_kernel_get_spec(q->spec, NULL, &kernel, &origin, NULL);

    groat_kernel_release(kernel);
    return status == GROAT_OK && kernel == q->kernel &&
           origin == GROAT_FROM_MEMORY;
}

/* A handle of a kernel. */
static bool by_handle(const question *q)
{
    groat_kernel *kernel =
        groat_kernel_retain(groat_request_kernel(q->request));

    groat_kernel_release(kernel);
    return kernel == q->kernel;
}

static bool by_lookup(const question *q)
{
    return groat_kernel_lookup(q->context, text, target) == q->kernel &&
           groat_kernel_lookup_spec(q->spec) == q->kernel;
}

/* A get that the sealed context has refused before. */
static bool by_refusal(const question *q)
{
    groat_kernel *kernel = NULL;
    groat_error error = GROAT_ERROR_INIT;

    return groat_kernel_get(q->context, "adder:step=4", target, &kernel, NULL,
                            &error) == GROAT_SEALED;
}

typedef struct kind {
    const char *name;
    bool (*ask)(const question *q);
    int times;
    bool is_sampled; /* one of GROAT__SAMPLED gets reads the clock, twice */
} kind;

static const kind kinds[] = {
    {"gets by text", by_text, HITS, true},
    {"gets by spec", by_spec, HITS, true},
    {"handles", by_handle, HITS, false},
    {"lookups", by_lookup, HITS, false},
    {"refusals of a sealed context", by_refusal, HITS / 10, false},
};

/* Counts of a child. */
typedef struct report {
    bool traps;
    counts control; /* for one allocation, free, lock and call */
    uint64_t clock; /* calls to read the clock once: 0, or 1 where
                     * the vDSO lacks it */
    uint64_t wrong; /* answers */
    counts of[COUNT(kinds)];
} report;

static counts count_of(void (*act)(void))
{
    now = (counts){0};
    counting = true;
    act();
    counting = false;
    return now;
}

static void do_one_of_each(void)
{
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    void *volatile memory = malloc(1);

    (void)pthread_mutex_lock(&lock);
    (void)pthread_mutex_unlock(&lock);
    (void)syscall(SYS_getppid);
    free(memory);
}

static void read_clock(void)
{
    (void)groat__now_ns();
}

static void count_kind(const kind *k, const question *q, report *out,
                       counts *sum)
{
    uint64_t wrong = 0;

    now = (counts){0};
    counting = true;
    for (int i = 0; i < k->times; i++)
        wrong += !k->ask(q);
    counting = false;
    *sum = now;
    out->wrong += wrong;
}

/* Counts with a context of the process's own. */
static void count_all(report *out)
{
    groat_options options = rig_options(&fix);
    groat_context *context;

    /* A remote is not asked for a hit. */
    options.remote = "file:///dev/null";
    context = rig_open_with(&fix, &options);
    question own = {.context = context};
    const question *q = &own;

    own.kernel = rig_get(&fix, context, text, target, GROAT_FROM_COMPILER);
    own.spec = rig_parse(&fix, context, text, target);
    ck_assert_int_eq(
        groat_kernel_start(own.spec, NULL, &own.request, &fix.error), GROAT_OK);
    groat_seal(context);
    (void)count_of(do_one_of_each); /* resolves the functions of libc */
    /* One-time work, as the log line of a first refusal, allocates from the
     * system; malloc cannot cope when such a call is trapped. */
    for (size_t i = 0; i < COUNT(kinds); i++)
        (void)kinds[i].ask(q);
    out->traps = trap_calls();
    out->control = count_of(do_one_of_each);
    out->clock = count_of(read_clock).calls;
    for (size_t i = 0; i < COUNT(kinds); i++)
        count_kind(&kinds[i], q, out, &out->of[i]);
}

/* In a child, because the filter lasts as long as the process. */
static void count_in_child(report *out)
{
    int status = 0;
    pid_t child = fork();

    ck_assert_int_ge(child, 0);
    if (child == 0) {
        count_all(out);
        _exit(0);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "status %d",
                  status);
}

static void judge(const report *r)
{
    ck_assert_uint_eq(r->control.allocations, 2);
    ck_assert_uint_eq(r->control.locks, 1);
    ck_assert_uint_eq(r->control.calls, r->traps);
    ck_assert_uint_eq(r->wrong, 0);
    for (size_t i = 0; i < COUNT(kinds); i++) {
        const kind *k = &kinds[i];
        const counts *c = &r->of[i];
        uint64_t reads =
            k->is_sampled
                ? 2 * ((uint64_t)k->times / GROAT__SAMPLED + GROAT__TALLY_PARTS)
                : 0;

        printf("%d %s: %llu allocations, %llu locks, %llu system calls\n",
               k->times, k->name, (unsigned long long)c->allocations,
               (unsigned long long)c->locks, (unsigned long long)c->calls);
        (void)fflush(stdout);
        ck_assert_uint_eq(c->allocations, 0);
        ck_assert_uint_eq(c->locks, 0);
        ck_assert_msg(c->calls <= r->clock * reads, "%s: call %d was made",
                      k->name, c->first_call);
    }
    if (!r->traps)
        puts("SKIP: calls of the system are not counted: seccomp is refused");
    if (r->clock != 0)
        puts("the clock is a call of the system here: those were for times");
}

START_TEST(a_million_hits)
{
    report *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    ck_assert_ptr_ne(shared, MAP_FAILED);
    count_in_child(shared);
    judge(shared);
    (void)munmap(shared, sizeof(*shared));
}
END_TEST

static void setup(void)
{
    rig_make(&fix);
    rig_write_adder(&fix);
}

static void teardown(void)
{
    rig_drop(&fix);
}

int main(void)
{
    Suite *suite;
    TCase *tests;

#ifdef SANITIZED
    puts("SKIP: a sanitizer has an allocator and calls of its own");
    return 77;
#endif
    suite = suite_create("hits");
    tests = tcase_create("hits");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, a_million_hits);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
