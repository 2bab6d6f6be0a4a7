/* SPDX-License-Identifier: Apache-2.0
 *
 * cpu.c is the device of cpu targets: it loads binaries of cxx.c into this
 * process, keeps the list of "device" buffers that a kernel may touch, and
 * hands launches to judge.c.  Invariant: an address in the list is a live
 * allocation of its size.  Locking: the list has a mutex; a launch works on a
 * copy, so launches run in parallel.
 */
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "backend/backend.h"
#include "backend/elf.h"
#include "backend/guarded.h"
#include "backend/lines.h"
#include "backend/shared.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fs.h"
#include "base/grow.h"
#include "base/loader.h"
#include "base/str.h"
#include "judge/judge.h"
#include "kernels-src/common/cpu_tensor_map.h"

enum {
    STACK_BYTES_LONG = 768 << 10, /* CUDA's local memory has 512 KiB */
#ifdef __SANITIZE_ADDRESS__
    STACK_BYTES = 256 << 10, /* ASan clears its shadow at each switch */
#else
    STACK_BYTES = STACK_BYTES_LONG,
#endif
    STACK_BYTES_SANITIZE = 1 << 20,
    BUILD_ID_MAX = 64,
    CALLS_MAX = 16
};

typedef struct cpu {
    pthread_mutex_t lock;
    groat__judge_range *ranges;
    size_t count;
    size_t cap;
    const char *path; /* $PATH, and the environment of tools */
    char *const *environment;
    uint64_t seed;
    unsigned seconds; /* time limit of a launch; 0: none */
    unsigned jobs;
    bool sanitize;
    groat_trace_fn *trace;
    void *trace_user;
    groat_judge_progress_fn *progress;
    void *progress_user;
} cpu;

struct groat__module {
    void *handle;
    int fd; /* open as long as the code is loaded, see open_code */
    void (*entry)(const void *args);
    unsigned (*bind)(struct groat_cpu_env *env);
    /* NULL: the kernel cannot be interrupted. */
    int (*where)(const void *at);
    struct groat_cpu_env *(*bound)(void);
    void (*plain)(struct groat_cpu_plain *out); /* NULL: reports no pointers */
    const groat__arch *arch;
    char *name;
};

static void cpu_close(void *state)
{
    cpu *c = state;

    if (c == NULL)
        return;
    for (size_t i = 0; i < c->count; i++)
        groat__guarded_unmap((uint8_t *)(uintptr_t)c->ranges[i].address,
                             c->ranges[i].bytes);
    free(c->ranges);
    (void)pthread_mutex_destroy(&c->lock);
    free(c);
}

static groat_status cpu_search(const groat__env *env, void **state,
                               groat_error *error)
{
    cpu *c = calloc(1, sizeof(*c));

    if (c == NULL || pthread_mutex_init(&c->lock, NULL) != 0) {
        free(c);
        return groat__fail(error, GROAT_NO_MEMORY, "no memory");
    }
    c->path = env->path;
    c->environment = env->all;
    c->seed = env->seed;
    c->seconds = env->judge_seconds;
    c->jobs = env->judge_jobs;
    c->sanitize = env->sanitize;
    c->trace = env->trace;
    c->trace_user = env->trace_user;
    c->progress = env->progress;
    c->progress_user = env->progress_user;
    *state = c;
    return GROAT_OK;
}

static size_t cpu_count(void *state)
{
    (void)state;
    return 0;
}

static groat_status cpu_facts(void *state, size_t index,
                              groat_device_info *info, groat_error *error)
{
    (void)state;
    (void)info;
    return groat__fail(error, GROAT_INVALID,
                       "cpu device %zu: the judge is not a device", index);
}

static groat_status resolve(groat__module *m, const char *entry,
                            groat_error *error)
{
    void *function = dlsym(m->handle, entry);
    void *bind = dlsym(m->handle, "groat_cpu_bind");
    void *where = dlsym(m->handle, "groat_cpu_where");
    void *bound = dlsym(m->handle, "groat_cpu_bound");
    void *plain = dlsym(m->handle, "groat_cpu_plain");

    if (function == NULL || bind == NULL)
        return groat__fail(error, GROAT_LOAD_FAILED,
                           "the kernel's binary has no symbol %s, which "
                           "GROAT_KERNEL(ARGS) in the family's file makes",
                           function == NULL ? entry : "groat_cpu_bind");
    memcpy(&m->entry, &function, sizeof(function));
    memcpy(&m->bind, &bind, sizeof(bind));
    memcpy(&m->where, &where, sizeof(where));
    memcpy(&m->bound, &bound, sizeof(bound));
    memcpy(&m->plain, &plain, sizeof(plain));
    return GROAT_OK;
}

/* Whether the handle is the library with this build id.  The loader identifies
 * libraries by name, so it may return an older one that it could not unload. */
static bool is_loaded(void *handle, const unsigned char *id, size_t bytes)
{
    struct link_map *map = NULL;
    char want[2 * BUILD_ID_MAX + 1];
    char seen[sizeof(want)] = "";

    if (bytes > BUILD_ID_MAX || dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0)
        return false;
    groat__hex(want, id, bytes);
    return groat__loader_mapped_id(map->l_addr, seen, sizeof(seen)) &&
           strcmp(seen, want) == 0;
}

/* If the loader keeps the code nevertheless, the descriptor stays open as long
 * as the process lives, so that its number is not used again. */
static void close_code(void *handle, int fd)
{
    char path[32];
    void *kept;

    groat__memory_name(fd, path);
    (void)dlclose(handle);
    kept = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
    if (kept == NULL)
        (void)close(fd);
    else
        (void)dlclose(kept);
}

/* Whether there is no descriptor or no address space for the loader: its
 * failure then says nothing about the code. */
static bool is_wanting(size_t bytes)
{
    size_t room = 2 * bytes + ((size_t)1 << 20);
    void *probe = mmap(NULL, room, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (probe != MAP_FAILED)
        (void)munmap(probe, room);
    return probe == MAP_FAILED || groat__fs_no_descriptors();
}

static groat_status open_code(groat__module *m, const void *data, size_t bytes,
                              groat_error *error)
{
    size_t id_bytes = 0;
    const unsigned char *id = groat__elf_file_id(data, bytes, &id_bytes);
    char path[32];
    groat_status status = GROAT_LOAD_FAILED;
    const char *why;
    int fd;

    if (id == NULL)
        return groat__fail(error, GROAT_LOAD_FAILED,
                           "the kernel's binary of %zu bytes is not a complete "
                           "library with a build id",
                           bytes);
    /* Each load has a file of its own: dlopen returns one handle, with one set
     * of static state, for two loads of the same file. */
    fd = groat__memory_file("groat-kernel", data, bytes);
    if (fd < 0)
        return groat__fail(error, GROAT_NO_MEMORY,
                           "cannot make a memory file for the kernel's binary "
                           "of %zu bytes: %s",
                           bytes, strerror(errno));
    /* The loader takes a second library of the same name for the first one, so
     * the descriptor's number may not be reused while this one is loaded. */
    groat__memory_name(fd, path);
    m->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    m->fd = fd;
    if (m->handle != NULL && is_loaded(m->handle, id, id_bytes))
        return GROAT_OK;
    why = m->handle == NULL ? dlerror()
                            : "another library was mapped in its place";
    if (m->handle == NULL && is_wanting(bytes))
        status = GROAT_NO_MEMORY;
    groat__fail(error, status, "the loader refused the kernel's binary: %s",
                why != NULL ? why : "no reason given");
    if (m->handle == NULL)
        (void)close(fd);
    return status;
}

static void cpu_unload(void *state, groat__module *module)
{
    (void)state;
    close_code(module->handle, module->fd);
    free(module->name);
    free(module);
}

static groat_status cpu_load(void *state, const groat__arch *arch,
                             const void *data, size_t bytes, const char *entry,
                             groat__shape *shape, groat__module **out,
                             groat_error *error)
{
    cpu *c = state;
    groat__module *m;
    groat_status status;

    /* Loading such code without ASan's run-time library ends the process. */
    if (c->sanitize && dlsym(RTLD_DEFAULT, "__asan_init") == NULL)
        return groat__fail(error, GROAT_NO_DEVICE,
                           "a kernel compiled with ASan needs libasan loaded "
                           "first: start the program with LD_PRELOAD set to "
                           "it, as `groat run --sanitize` does");
    m = calloc(1, sizeof(*m));
    if (m == NULL)
        return groat__fail(error, GROAT_NO_MEMORY, "no memory for a kernel");
    m->arch = arch;
    m->name = strdup(entry);
    if (m->name == NULL) {
        free(m);
        return groat__fail(error, GROAT_NO_MEMORY, "no memory for a kernel");
    }
    status = open_code(m, data, bytes, error);
    if (status == GROAT_OK)
        status = resolve(m, entry, error);
    if (status != GROAT_OK) {
        if (m->handle != NULL)
            cpu_unload(c, m);
        else {
            free(m->name);
            free(m);
        }
        return status;
    }
    shape->dynamic_bytes = shape->shared_bytes;
    *out = m;
    return GROAT_OK;
}

static void *cpu_native(groat__module *module)
{
    (void)module;
    return NULL;
}

static void cpu_facts_of(void *state, groat__module *module, groat_facts *facts)
{
    (void)state;
    (void)module;
    if (facts->max_threads < 0)
        facts->max_threads = 1024;
}

static groat_status copy_ranges(cpu *c, groat__judge_range **out, size_t *count,
                                groat_error *error)
{
    groat_status status = GROAT_OK;

    (void)pthread_mutex_lock(&c->lock);
    *count = c->count;
    *out = malloc((c->count + 1) * sizeof(**out));
    if (*out == NULL)
        status = groat__fail(error, GROAT_NO_MEMORY, "no memory");
    else if (c->count > 0)
        memcpy(*out, c->ranges, c->count * sizeof(**out));
    (void)pthread_mutex_unlock(&c->lock);
    return status;
}

/* Arguments are passed by value, so the kernel sees an aligned copy.  It has
 * the exact size, as buffers have, for ASan. */
static void *copy_args(const void *args, size_t bytes, groat_error *error)
{
    void *copy = NULL;

    if (posix_memalign(&copy, _Alignof(groat_tensor_map),
                       bytes == 0 ? 1 : bytes) != 0) {
        (void)groat__fail(error, GROAT_NO_MEMORY,
                          "no memory for %zu bytes of arguments", bytes);
        return NULL;
    }
    memcpy(copy, args, bytes);
    return copy;
}

/* Adds the source lines of a finding, read from the code's own file. */
static void tell_lines(const cpu *c, const groat__module *module,
                       const groat__judge_places *places, groat_error *error)
{
    groat__line lines[GROAT__JUDGE_PLACES];
    struct link_map *map = NULL;
    char path[64];

    if (dlinfo(module->handle, RTLD_DI_LINKMAP, &map) != 0)
        return;
    (void)snprintf(path, sizeof(path), "/proc/%ld/fd/%d", (long)getpid(),
                   module->fd);
    for (size_t i = 0; i < places->count; i++)
        lines[i] = (groat__line){places->at[i].what,
                                 places->at[i].address - map->l_addr - 1};
    groat__lines_tell(c->path, c->environment, path, lines, places->count,
                      error);
}

/* Finds the interrupted instruction and stack pointer; 0: not known.  Of a
 * `fault` of a jump to an invalid address, the instruction is the call. */
static void read_context(const ucontext_t *context, bool fault, uintptr_t *at,
                         uintptr_t *stack)
{
#if defined(__x86_64__)
    *at = (uintptr_t)context->uc_mcontext.gregs[REG_RIP];
    *stack = (uintptr_t)context->uc_mcontext.gregs[REG_RSP];
    if (fault && *at == (uintptr_t)context->uc_mcontext.gregs[REG_CR2])
        *at = *(const uintptr_t *)*stack - 1;
#elif defined(__aarch64__)
    *at = (uintptr_t)context->uc_mcontext.pc;
    *stack = (uintptr_t)context->uc_mcontext.sp;
    if (fault && *at == (uintptr_t)context->uc_mcontext.fault_address)
        *at = (uintptr_t)context->uc_mcontext.regs[30] - 1;
#else
    (void)fault;
    (void)context;
    *at = *stack = 0;
#endif
}

/* Finds the innermost instruction of the kernel's lines: `at`, or the call of
 * the code behind them that was interrupted.  0: it is not the kernel's code.
 */
static uintptr_t find_line(const groat__module *m, uintptr_t at)
{
    int where = m->where((const void *)at);
    void *calls[CALLS_MAX];
    int count;

    if (where != GROAT_CPU_BEHIND)
        return where == GROAT_CPU_LINE ? at : 0;
    count = backtrace(calls, CALLS_MAX);
    for (int i = 0; i < count; i++) {
        uintptr_t call = (uintptr_t)calls[i] - 1;

        if (m->where((const void *)call) == GROAT_CPU_LINE)
            return call;
    }
    return at;
}

/* Within the kernel's own code no lock is held and no list half changed, so
 * the handler may do what a hook of the judge may. */
static void cpu_interrupt(groat__module *module, const void *context,
                          const char *why)
{
    struct groat_cpu_env *env;
    uintptr_t at;
    uintptr_t stack;
    uintptr_t line;

    read_context(context, why != NULL, &at, &stack);
    if (module->where == NULL || module->bound == NULL)
        return;
    line = find_line(module, at);
    env = line != 0 ? module->bound() : NULL;
    if (env != NULL)
        groat__judge_interrupt(env, line, stack, why);
}

/* A thread-local variable, as __tls_get_addr() takes it. */
typedef struct tls {
    unsigned long module;
    unsigned long offset;
} tls;

extern void *__tls_get_addr(tls *variable);

/* The shared memory of the code at an address: its thread-local variables
 * without an initial value, which lie behind those with one. */
typedef struct found_tls {
    const unsigned char *image;
    tls start;
    size_t bytes;
    bool set; /* there are variables with one, besides the pointer of bind() */
} found_tls;

static int find_tls(struct dl_phdr_info *info, size_t size, void *user)
{
    enum { OWN_SLOT = 1024 /* bytes, see common/vendor_cpu.h */ };
    found_tls *found = user;

    (void)size;
    if (info->dlpi_addr != (uintptr_t)found->image)
        return 0;
    found->start.module = info->dlpi_tls_modid;
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];

        if (part->p_type != PT_TLS)
            continue;
        found->set = part->p_filesz > OWN_SLOT;
        found->start.offset = (part->p_filesz + part->p_align - 1) /
                              part->p_align * part->p_align;
        if (part->p_memsz > found->start.offset)
            found->bytes = part->p_memsz - found->start.offset;
    }
    return 1;
}

/* Static shared memory is known only here, with what the compiler put between
 * variables: CUDA's bound, and the device's of all. */
static groat_status check_shared(const groat__judge_launch *launch,
                                 const found_tls *found, groat_error *error)
{
    enum { STATIC_MOST = 48 << 10, BETWEEN = 1 << 10 };
    size_t bytes = found->bytes;
    unsigned dynamic = launch->shared_bytes;
    size_t fixed = bytes > dynamic ? bytes - dynamic : 0;

    if (found->set)
        return groat__fail(error, GROAT_INVALID,
                           "%s: a variable in shared memory has an initial "
                           "value, which CUDA does not allow",
                           launch->kernel);
    if (fixed > STATIC_MOST + BETWEEN)
        return groat__fail(error, GROAT_INVALID,
                           "%s: a block has %zu bytes of static shared memory; "
                           "%d are allowed, more has to be dynamic",
                           launch->kernel, fixed, STATIC_MOST);
    if (bytes > (size_t)launch->arch->shared_bytes)
        return groat__fail(error, GROAT_INVALID,
                           "%s: a block needs %zu bytes of shared memory, "
                           "static and dynamic; %s has %d",
                           launch->kernel, bytes, launch->arch->name,
                           launch->arch->shared_bytes);
    return GROAT_OK;
}

static unsigned char *own_shared(void *user)
{
    const found_tls *found = user;
    tls start = found->start;

    return __tls_get_addr(&start);
}

/* Launches code that reports its pointer accesses.  Its shared memory is its
 * thread-local variables, so each host thread has one. */
static groat_status run_plain(const groat__module *module,
                              groat__judge_launch *launch, groat_error *error)
{
    found_tls found = {0};
    groat_status status;

    if (launch->stack_bytes < STACK_BYTES_LONG)
        launch->stack_bytes = STACK_BYTES_LONG;
    module->plain(&launch->plain);
    found.image = launch->plain.image;
    (void)dl_iterate_phdr(find_tls, &found);
    if (found.bytes > 0 || found.set) {
        status = check_shared(launch, &found, error);
        if (status != GROAT_OK)
            return status;
        launch->shared_of = own_shared;
        launch->shared_user = &found;
        launch->shared_bytes = (unsigned)found.bytes;
    }
    return groat__judge_run(launch, error);
}

static groat_status cpu_launch(void *state, groat__module *module,
                               const groat__shape *shape,
                               const groat_launch *launch, const void *args,
                               groat_error *error)
{
    cpu *c = state;
    groat__judge_range *ranges = NULL;
    groat__judge_launch judged = {0};
    groat__judge_places places = {.count = 0};
    void *own = copy_args(args, shape->args_bytes, error);
    groat_status status = GROAT_NO_MEMORY;

    if (own != NULL)
        status = copy_ranges(c, &ranges, &judged.range_count, error);
    if (status != GROAT_OK)
        goto free_args;
    judged.arch = module->arch;
    judged.kernel = module->name;
    judged.entry = module->entry;
    judged.bind = module->bind;
    judged.args = own;
    memcpy(judged.grid, launch->grid, sizeof(judged.grid));
    memcpy(judged.block, shape->block, sizeof(judged.block));
    memcpy(judged.cluster, shape->cluster, sizeof(judged.cluster));
    judged.shared_bytes = shape->shared_bytes;
    judged.args_bytes = shape->args_bytes;
    judged.ranges = ranges;
    judged.seed = c->seed;
    judged.seconds = c->seconds;
    judged.jobs = c->jobs;
    judged.trace = c->trace;
    judged.trace_user = c->trace_user;
    judged.progress = c->progress;
    judged.progress_user = c->progress_user;
    judged.stack_bytes = c->sanitize ? STACK_BYTES_SANITIZE : STACK_BYTES;
    judged.places = &places;
    status = module->plain == NULL ? groat__judge_run(&judged, error)
                                   : run_plain(module, &judged, error);
    if (status == GROAT_JUDGED && groat__error_is_whole(error))
        tell_lines(c, module, &places, error);
    free(ranges);
free_args:
    free(own);
    return status;
}

static double now_us(void)
{
    return (double)groat__now_ns() / 1e3;
}

/* A launch is done when it returns. */
static groat_status cpu_launch_noted(void *state, groat__module *module,
                                     const groat__shape *shape,
                                     const groat_launch *launch,
                                     const void *args, bool *captured,
                                     groat_error *error)
{
    (void)captured;
    return cpu_launch(state, module, shape, launch, args, error);
}

static bool cpu_idle(void *state, groat__module *module)
{
    (void)state;
    (void)module;
    return true;
}

static groat_status cpu_time(void *state, groat__module *module,
                             const groat__shape *shape,
                             const groat_launch *launch, const void *args,
                             unsigned repeats, double *us, groat_error *error)
{
    double start = now_us();

    for (unsigned i = 0; i < repeats; i++) {
        groat_status status =
            cpu_launch(state, module, shape, launch, args, error);

        if (status != GROAT_OK)
            return status;
    }
    *us = (now_us() - start) / repeats;
    return GROAT_OK;
}

static groat_status cpu_sync(void *state, groat_error *error)
{
    (void)state;
    (void)error;
    return GROAT_OK;
}

static groat_status remember(cpu *c, void *memory, size_t bytes)
{
    groat_status status = GROAT_OK;

    (void)pthread_mutex_lock(&c->lock);
    if (groat__grow(&c->ranges, c->count + 1, &c->cap, sizeof(*c->ranges)))
        c->ranges[c->count++] =
            (groat__judge_range){(uint64_t)(uintptr_t)memory, bytes};
    else
        status = GROAT_NO_MEMORY;
    (void)pthread_mutex_unlock(&c->lock);
    return status;
}

static groat_status cpu_alloc(void *state, size_t bytes, uint64_t *address,
                              groat_error *error)
{
    uint8_t *memory = bytes > SIZE_MAX / 2 ? NULL : groat__guarded_map(bytes);

    if (memory != NULL && remember(state, memory, bytes) != GROAT_OK) {
        groat__guarded_unmap(memory, bytes);
        memory = NULL;
    }
    if (memory == NULL)
        return groat__fail(error, GROAT_NO_MEMORY,
                           "no memory for a buffer of %zu bytes", bytes);
    *address = (uint64_t)(uintptr_t)memory;
    return GROAT_OK;
}

static void cpu_release(void *state, uint64_t address)
{
    cpu *c = state;
    groat__judge_range found = {0};

    (void)pthread_mutex_lock(&c->lock);
    for (size_t i = 0; i < c->count && found.address == 0; i++)
        if (c->ranges[i].address == address) {
            found = c->ranges[i];
            c->ranges[i] = c->ranges[--c->count];
        }
    (void)pthread_mutex_unlock(&c->lock);
    if (found.address != 0)
        groat__guarded_unmap((uint8_t *)(uintptr_t)address, found.bytes);
}

static bool is_inside(cpu *c, uint64_t address, size_t bytes)
{
    bool inside = bytes == 0;

    (void)pthread_mutex_lock(&c->lock);
    for (size_t i = 0; i < c->count && !inside; i++)
        inside = address >= c->ranges[i].address &&
                 address - c->ranges[i].address <= c->ranges[i].bytes &&
                 bytes <= c->ranges[i].bytes - (address - c->ranges[i].address);
    (void)pthread_mutex_unlock(&c->lock);
    return inside;
}

/* Copies run outside of the lock: the owner of a buffer may not release it
 * while a copy is under way. */
static groat_status cpu_write(void *state, uint64_t to, const void *from,
                              size_t bytes, groat_error *error)
{
    if (!is_inside(state, to, bytes))
        return groat__fail(error, GROAT_LAUNCH_FAILED,
                           "%zu bytes at 0x%llx are not inside one buffer",
                           bytes, (unsigned long long)to);
    if (bytes > 0)
        memcpy((void *)(uintptr_t)to, from, bytes);
    return GROAT_OK;
}

static groat_status cpu_read(void *state, void *to, uint64_t from, size_t bytes,
                             groat_error *error)
{
    if (!is_inside(state, from, bytes))
        return groat__fail(error, GROAT_LAUNCH_FAILED,
                           "%zu bytes at 0x%llx are not inside one buffer",
                           bytes, (unsigned long long)from);
    if (bytes > 0)
        memcpy(to, (const void *)(uintptr_t)from, bytes);
    return GROAT_OK;
}

static groat_status cpu_may_load(void *state, void *stream, groat_error *error)
{
    (void)state;
    (void)stream;
    (void)error;
    return GROAT_OK;
}

static groat_status cpu_tensor_map(void *state, const groat_tensor *tensor,
                                   groat_tensor_map *out, groat_error *error)
{
    struct groat_cpu_tensor_map map = {.magic = GROAT_CPU_TENSOR_MAP_MAGIC,
                                       .address = tensor->address,
                                       .rank = tensor->rank,
                                       .elem_bytes = tensor->elem_bytes,
                                       .swizzle = (unsigned)tensor->swizzle};

    (void)state;
    (void)error;
    for (unsigned i = 0; i < GROAT_CPU_TENSOR_MAP_RANK; i++) {
        map.dims[i] = i < tensor->rank ? tensor->dims[i] : 1;
        map.box[i] = (unsigned short)(i < tensor->rank ? tensor->box[i] : 1);
        if (i > 0 && i < tensor->rank)
            map.strides[i - 1] = tensor->strides[i - 1];
    }
    memset(out, 0, sizeof(*out));
    memcpy(out, &map, sizeof(map));
    return GROAT_OK;
}

static void cpu_report(void *state, const groat__env *env,
                       const groat_error *failed, groat__str *out)
{
    (void)state;
    if (failed == NULL)
        groat__finding(out, "cpu judge", true,
                       "fibers in this process, seed %llu%s",
                       (unsigned long long)env->seed,
                       env->sanitize ? ", kernels under ASan and UBSan" : "");
    else
        groat__finding(out, "cpu judge", false, "%s", failed->text);
}

const groat__device groat__device_cpu = {
    .name = "cpu",
    .part = {cpu_search, cpu_close, cpu_report},
    .count = cpu_count,
    .facts = cpu_facts,
    .load = cpu_load,
    .may_load = cpu_may_load,
    .unload = cpu_unload,
    .native = cpu_native,
    .facts_of = cpu_facts_of,
    .launch = cpu_launch,
    .launch_noted = cpu_launch_noted,
    .idle = cpu_idle,
    .time = cpu_time,
    .sync = cpu_sync,
    .alloc = cpu_alloc,
    .release = cpu_release,
    .write = cpu_write,
    .read = cpu_read,
    .tensor_map = cpu_tensor_map,
    .interrupt = cpu_interrupt,
};

_Static_assert(sizeof(struct groat_cpu_tensor_map) <= sizeof(groat_tensor_map),
               "a cpu target's map has room in a tensor map");
_Static_assert(GROAT_CPU_SWIZZLE_NONE == (int)GROAT_SWIZZLE_NONE &&
                   GROAT_CPU_SWIZZLE_32B == (int)GROAT_SWIZZLE_32 &&
                   GROAT_CPU_SWIZZLE_64B == (int)GROAT_SWIZZLE_64 &&
                   GROAT_CPU_SWIZZLE_128B == (int)GROAT_SWIZZLE_128,
               "the judge's swizzles are those of groat_tensor.h");
