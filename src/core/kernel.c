/* SPDX-License-Identifier: Apache-2.0
 *
 * kernel.c walks the one path: spec, source, key, binary, kernel.  A kernel is
 * looked for in memory, then in the store, then compiled; flight.c lets one
 * thread do it for all.  Invariant: a kernel in the context's list is immutable
 * but for its count and what resident.c needs to unload it; the list keeps it
 * until groat_close, so a borrowed pointer from groat_kernel_lookup stays good.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "core/core.h"

enum { THREADS_MAX = 1024 };

/* One spec on its way to a kernel. */
typedef struct journey {
    groat_context *context;
    const groat__params *params;
    const groat__backend *backend;
    groat__str identity;
    groat__digest key;
    groat__str entry;
    groat__shape shape;
    groat__made made;
    groat__bundle *bundle; /* that it is from; NULL: none */
    groat_reason reason;   /* to compile */
    bool sealed;           /* when it began */
    groat_kernel *again;   /* the handle, where it was unloaded */
} journey;

/* What every machine of the arch would refuse: a build is told at once. */
static groat_status check_shape(const journey *j, groat_error *error)
{
    const unsigned *b = j->shape.block;
    const groat__arch *arch = j->params->target.arch;
    uint64_t threads = (uint64_t)b[0] * b[1] * b[2];

    if (threads > THREADS_MAX)
        return groat__fail(error, GROAT_INVALID,
                           "%s: a block is %u x %u x %u threads; %d in all are "
                           "allowed",
                           j->entry.data, b[0], b[1], b[2], THREADS_MAX);
    if (j->shape.shared_bytes > (unsigned)arch->shared_bytes)
        return groat__fail(error, GROAT_INVALID,
                           "%s: a block needs %u bytes of shared memory; %s "
                           "has %d",
                           j->entry.data, j->shape.shared_bytes, arch->name,
                           arch->shared_bytes);
    return GROAT_OK;
}

static groat_status begin(journey *j, groat_context *context,
                          const groat__params *params, groat_error *error)
{
    groat__maker maker = GROAT__MAKER_OPEN;
    groat__launch_values launch;
    groat_status status = groat__params_launch(params, &launch, error);

    memset(j, 0, sizeof(*j));
    j->context = context;
    j->params = params;
    j->backend = groat__backend_get(params->target.backend);
    j->sealed = groat__seal_is_on(&context->seal);
    if (status != GROAT_OK)
        return status;
    for (int i = 0; i < 3; i++) {
        j->shape.block[i] = (unsigned)launch.of[GROAT__BLOCK_X + i];
        j->shape.cluster[i] = (unsigned)launch.of[GROAT__CLUSTER_X + i];
    }
    j->shape.shared_bytes = (unsigned)launch.of[GROAT__SHARED];
    j->shape.args_bytes = (unsigned)launch.of[GROAT__ARGS];
    groat__params_entry(params, &j->entry);
    if (j->entry.failed)
        return groat__fail(error, GROAT_NO_MEMORY, "no memory for a name");
    status = check_shape(j, error);
    if (status != GROAT_OK)
        return status;
    status = groat__spec_identity(context, params, &j->identity, &j->key,
                                  &maker, error);
    if (status == GROAT_OK && maker == GROAT__MAKER_ABSENT)
        (void)atomic_fetch_add(&context->metrics.compilerless, 1);
    return status;
}

static void end(journey *j)
{
    groat__str_free(&j->identity);
    groat__str_free(&j->entry);
    groat__binary_free(&j->made.binary);
}

static void take_stored(journey *j, const groat__store_blob *blob,
                        groat_origin origin)
{
    j->made.binary =
        (groat__binary){blob->data, blob->bytes, blob->log, blob->facts};
    j->made.origin = origin;
}

static void begin_range(const journey *j, const char *what)
{
    groat__range_begin(&j->context->ranges, what, j->params->family->name);
}

static void end_range(const journey *j)
{
    groat__range_end(&j->context->ranges);
}

static bool read_blob(journey *j, groat__store_blob *blob)
{
    if (j->context->store != NULL &&
        groat__store_get(j->context->store, &j->key, j->identity.data, blob))
        take_stored(j, blob, GROAT_FROM_DISK);
    else if ((j->bundle = groat__layers_get(j->context, &j->key,
                                            j->identity.data, blob)) != NULL)
        take_stored(j, blob, GROAT_FROM_BUNDLE);
    else
        return false;
    return true;
}

/* From the store, else from a bundle beneath it. */
static bool fetch(journey *j)
{
    groat__store_blob blob = {0};
    uint64_t start = groat__now_ns();
    bool found;

    begin_range(j, "read");
    found = read_blob(j, &blob);
    end_range(j);
    if (!found)
        return false;
    groat__metrics_spent(&j->context->metrics, GROAT__STAGE_READ,
                         groat__now_ns() - start - blob.verify_ns);
    groat__metrics_spent(&j->context->metrics, GROAT__STAGE_VERIFY,
                         blob.verify_ns);
    return true;
}

/* Opens the compiler.  One that was foreseen, of an entry that is lost, may
 * be another by now. */
static groat_status open_compiler(const journey *j, void **state,
                                  groat_error *error)
{
    const char *lines = NULL;
    groat_status status = groat__machine_compiler(
        j->context, j->params->target.backend, state, error);

    if (status == GROAT_OK)
        status = groat__machine_identity(j->context, &j->params->target, &lines,
                                         error);
    if (status == GROAT_OK &&
        strcmp(groat__key_second_half(j->identity.data), lines) != 0)
        status = groat__fail(error, GROAT_COMPILE_FAILED,
                             "%s was made by another compiler, and is lost; "
                             "ask again for that of the compiler of now",
                             j->entry.data);
    return status;
}

/* The compiler's part: source in, binary out. */
static groat_status run_compiler(journey *j, groat_error *error)
{
    groat__str source = {0};
    void *state = NULL;
    groat_status status = open_compiler(j, &state, error);

    if (status != GROAT_OK)
        return status;
    groat__render_source(j->params, &source);
    if (source.failed) {
        groat__str_free(&source);
        return groat__fail(error, GROAT_NO_MEMORY, "no memory for the source");
    }
    status = j->backend->compiler->compile(
        state, j->params->target.arch, j->params->family->name, source.data,
        j->entry.data, &j->made.binary, error);
    groat__str_free(&source);
    return status;
}

static void tell_compiled(const journey *j, groat_status status, double ms,
                          const groat_error *error)
{
    groat_compile_event event = {.size = sizeof(event),
                                 .target = j->params->target.text,
                                 .reason = j->reason,
                                 .status = status,
                                 .ms = ms};
    groat__str spec = {0};

    groat__params_text(j->params, &spec);
    groat__hex(event.key, j->key.bytes, sizeof(j->key.bytes));
    groat__callbacks_compiled(&j->context->callbacks,
                              spec.failed ? "" : spec.data, &event,
                              status == GROAT_OK ? NULL : error);
    groat__str_free(&spec);
}

static void put(journey *j)
{
    uint64_t start = groat__now_ns();

    if (j->context->store == NULL)
        return;
    begin_range(j, "put");
    groat__store_first(j->context->store, &j->key, j->made.compile_ms);
    groat__store_put(j->context->store, &j->key, j->identity.data,
                     j->made.binary.data, j->made.binary.bytes,
                     j->made.binary.log, &j->made.binary.facts);
    end_range(j);
    groat__metrics_add(&j->context->metrics, GROAT__STAGE_PUT, start);
}

static groat_status compile(journey *j, groat_error *error)
{
    groat__metrics *metrics = &j->context->metrics;
    uint64_t start = groat__now_ns();
    groat_error own = GROAT_ERROR_INIT;
    groat_status status;
    double ms;

    begin_range(j, "compile");
    GROAT__PROBE3(compile__start, j->params->family->name,
                  j->params->target.text, groat_reason_name(j->reason));
    status = run_compiler(j, &own);
    ms = (double)(groat__now_ns() - start) * 1e-6;
    GROAT__PROBE5(compile__end, j->params->family->name, j->params->target.text,
                  groat_reason_name(j->reason), (uint64_t)(ms * 1e3),
                  (int)status);
    end_range(j);
    if (status == GROAT_OK) {
        groat__metrics_add(metrics, GROAT__STAGE_COMPILE, start);
        groat__failures_forget(&j->context->failures, &j->key);
        j->made.origin = GROAT_FROM_COMPILER;
        j->made.compile_ms = ms;
        (void)atomic_fetch_add(&j->context->compiles, 1);
        put(j);
    } else {
        (void)atomic_fetch_add(&metrics->compile_failures, 1);
        groat__error_copy(error, &own);
    }
    tell_compiled(j, status, ms, &own);
    groat_error_clear(&own);
    return status;
}

/* What the store has not: compiled here, or by another process meanwhile. */
static groat_status produce(journey *j, groat_error *error)
{
    groat__store_blob blob = {0};
    groat__claim claim = GROAT__CLAIM_NONE;
    groat_status status = GROAT_OK;

    if (j->sealed)
        return groat__fail(error, GROAT_SEALED,
                           "the context is sealed and %s is not in the store",
                           j->entry.data);
    if (groat__failures_answer(&j->context->failures, &j->key, error))
        return GROAT_COMPILE_FAILED;
    if (j->context->store != NULL)
        claim = groat__store_claim(j->context->store, &j->key, j->identity.data,
                                   &blob);
    if (j->reason != GROAT_REASON_REFUSED)
        j->reason = j->context->store == NULL    ? GROAT_REASON_NO_STORE
                    : claim == GROAT__CLAIM_NONE ? GROAT_REASON_ALONE
                                                 : GROAT_REASON_ABSENT;
    if (claim == GROAT__CLAIM_FOUND)
        take_stored(j, &blob, GROAT_FROM_DISK);
    else
        status = compile(j, error);
    if (claim == GROAT__CLAIM_HELD)
        groat__store_release(j->context->store, &j->key);
    if (status == GROAT_COMPILE_FAILED)
        groat__failures_note(&j->context->failures, &j->key, error);
    return status;
}

static groat_status obtain(journey *j, groat_error *error)
{
    return j->made.binary.data != NULL || fetch(j) ? GROAT_OK
                                                   : produce(j, error);
}

static char *copy(const char *text, bool *failed)
{
    char *own = strdup(text != NULL ? text : "");

    *failed = *failed || own == NULL;
    return own;
}

/* Who made it, of the second half of the identity; malloc'd. */
static char *maker_of(const journey *j)
{
    size_t len;
    const char *maker = groat__key_maker(j->identity.data, &len);

    return strndup(maker, len);
}

static groat_kernel *new_kernel(const journey *j)
{
    groat_kernel *kernel = calloc(1, sizeof(*kernel));
    groat__str text = {0};
    bool failed = false;

    if (kernel == NULL)
        return NULL;
    groat__params_text(j->params, &text);
    kernel->device = j->backend->device;
    kernel->shape = j->shape;
    kernel->context = j->context;
    atomic_init(&kernel->refs, 1); /* the context's */
    kernel->spec = groat__str_take(&text);
    kernel->target = copy(j->params->target.text, &failed);
    kernel->entry = copy(j->entry.data, &failed);
    kernel->log = copy(j->made.binary.log, &failed);
    kernel->identity = copy(j->identity.data, &failed);
    kernel->maker = maker_of(j);
    kernel->key = j->key;
    kernel->origin = j->made.origin;
    kernel->compile_ms = j->made.compile_ms;
    kernel->facts = j->made.binary.facts;
    if (failed || kernel->spec == NULL || kernel->maker == NULL) {
        groat__kernel_free(kernel);
        return NULL;
    }
    return kernel;
}

/* Into a handle: a new one's shape is completed, an old one's has to fit. */
static groat_status load_module(journey *j, groat_kernel *kernel,
                                groat_error *error)
{
    groat__module *module = NULL;
    groat__shape shape = j->shape;
    uint64_t bytes = j->made.binary.bytes;
    void *state = NULL;
    groat_status status = groat__machine_device(
        j->context, j->params->target.backend, &state, error);

    if (status != GROAT_OK)
        return status;
    groat__resident_reserve(j->context, bytes);
    status =
        kernel->device->load(state, j->params->target.arch, j->made.binary.data,
                             bytes, kernel->entry, &shape, &module, error);
    if (status == GROAT_OK && kernel == j->again &&
        shape.dynamic_bytes != kernel->shape.dynamic_bytes) {
        kernel->device->unload(state, module);
        status = groat__fail(error, GROAT_LOAD_FAILED,
                             "%s has %u bytes of dynamic shared memory now; it "
                             "had %u when it was unloaded",
                             kernel->entry, shape.dynamic_bytes,
                             kernel->shape.dynamic_bytes);
    }
    if (status != GROAT_OK) {
        groat__resident_give_back(j->context, bytes);
        return status;
    }
    if (kernel != j->again) {
        kernel->device_state = state;
        kernel->shape = shape;
        kernel->device->facts_of(state, module, &kernel->facts);
    }
    groat__resident_add(kernel, module, bytes);
    return GROAT_OK;
}

/* *out has a count more. */
static groat_status load(journey *j, groat_kernel **out, groat_error *error)
{
    uint64_t start = groat__now_ns();
    groat_kernel *kernel = j->again != NULL ? j->again : new_kernel(j);
    groat_status status;

    if (kernel == NULL)
        return groat__fail(error, GROAT_NO_MEMORY, "no memory for a kernel");
    (void)groat_kernel_retain(kernel);
    begin_range(j, "load");
    status = load_module(j, kernel, error);
    GROAT__PROBE4(load, j->params->family->name, j->params->target.text,
                  (groat__now_ns() - start) / 1000, (int)status);
    end_range(j);
    if (status != GROAT_OK) {
        if (kernel == j->again)
            groat__resident_drop(kernel);
        else
            groat__kernel_free(kernel);
        return status;
    }
    if (kernel != j->again)
        kernel->load_ms = (double)(groat__now_ns() - start) * 1e-6;
    groat__metrics_add(&j->context->metrics, GROAT__STAGE_LOAD, start);
    *out = kernel;
    return GROAT_OK;
}

/* What the driver refuses is nothing to keep. */
static void drop(journey *j)
{
    if (j->bundle != NULL)
        groat__bundle_refused(j->bundle);
    else if (j->context->store != NULL)
        groat__store_evict(j->context->store, &j->key, j->made.binary.data,
                           j->made.binary.bytes);
    j->bundle = NULL;
    groat__binary_free(&j->made.binary);
}

static bool was_kept(const journey *j)
{
    return j->made.origin == GROAT_FROM_DISK ||
           j->made.origin == GROAT_FROM_BUNDLE;
}

/* A kept binary that the driver refuses is dropped and made once
 * more, by one of the processes that it is refused to; if that one's is refused
 * here as well, by this one.  A fresh one that is refused is dropped and the
 * caller's error. */
static groat_status make(journey *j, groat_kernel **out, groat_error *error)
{
    groat_status (*const remake[])(journey *, groat_error *) = {produce,
                                                                compile};
    groat_status status = obtain(j, error);

    if (status == GROAT_OK)
        status = load(j, out, error);
    for (int i = 0; i < 2 && status == GROAT_LOAD_FAILED && was_kept(j); i++) {
        groat__log_line(&j->context->env.log, GROAT_LOG_WARNING,
                        "the driver refused the stored binary of %s: it is "
                        "dropped and compiled again",
                        j->entry.data);
        drop(j);
        j->reason = GROAT_REASON_REFUSED;
        status = remake[i](j, error);
        if (status == GROAT_OK)
            status = load(j, out, error);
    }
    if (status == GROAT_LOAD_FAILED)
        drop(j);
    return status;
}

static void remember(groat_context *context, const groat__kernel_name *name,
                     groat_kernel *kernel)
{
    (void)pthread_mutex_lock(&context->lock);
    groat__kernel_table_add(&context->table, name, kernel);
    (void)pthread_mutex_unlock(&context->lock);
}

/* The second half of a name by values: what the values belong to. */
typedef struct owner {
    const groat_family *family;
    const groat__arch *arch;
    uint64_t backend;
} owner;

static groat__kernel_name name_of(const groat__params *params, owner *own)
{
    size_t first = GROAT__ARCH_SLOTS;

    own->family = params->family;
    own->arch = params->target.arch;
    own->backend = (uint64_t)params->target.backend;
    return (groat__kernel_name){params->values + first,
                                (params->family->slot_count - first) *
                                    sizeof(params->values[0]),
                                own, sizeof(*own)};
}

/* What the table has not. */
static groat_status find_or_make(groat_context *context,
                                 const groat__params *params, bool sealed,
                                 groat_kernel **out, groat_origin *origin,
                                 groat_error *error)
{
    groat_error own = GROAT_ERROR_INIT;
    groat__flight *flight = NULL;
    groat_kernel *kernel = NULL;
    groat__kernel_name name;
    groat__present quiet;
    owner whose;
    journey j;
    groat_status status = begin(&j, context, params, error);

    /* Lines and events wait while others wait for this thread: what is told may
     * ask for the same kernel. */
    groat__quiet_begin(&context->callbacks, &quiet);
    if (status != GROAT_OK)
        goto end_journey;
    j.sealed = j.sealed && sealed;
    status = groat__flight_enter(context, &j.key, j.sealed, &flight, &kernel,
                                 &j.made, error);
    if (status != GROAT_OK)
        goto end_journey;
    if (flight == NULL) {
        groat__tally_add(groat__tally_mine(&context->memory_hits));
        if (origin != NULL)
            *origin = GROAT_FROM_MEMORY;
    } else {
        j.again = flight->again;
        status = make(&j, &kernel, &own);
        groat__flight_land(context, flight, status, &own, kernel, &j.made);
        if (status != GROAT_OK)
            groat__error_copy(error, &own);
        else if (origin != NULL)
            *origin = j.made.origin;
    }
    if (status == GROAT_OK) {
        name = name_of(params, &whose);
        remember(context, &name, kernel);
        /* What was refused before may be this one. */
        groat__seal_renew(&context->seal);
        *out = kernel;
    }
end_journey:
    groat_error_clear(&own);
    end(&j);
    groat__quiet_end(&context->callbacks, &quiet);
    return status;
}

static groat_status get(groat_context *context, const groat__params *params,
                        bool sealed, groat_kernel **out, groat_origin *origin,
                        groat_error *error)
{
    groat_status status;

    GROAT__PROBE2(miss, params->family->name, params->target.text);
    groat__range_begin(&context->ranges, "miss", params->family->name);
    status = find_or_make(context, params, sealed, out, origin, error);
    groat__range_end(&context->ranges);
    return status;
}

static groat__kernel_name name_of_text(const char *spec, const char *target)
{
    return (groat__kernel_name){spec, strlen(spec), target, strlen(target)};
}

/* A get that memory may answer: where it is counted, and when it began where
 * its time is to be known, else 0. */
typedef struct hit {
    atomic_uint_fast64_t *count;
    uint64_t start;
} hit;

static hit sample(groat_context *context)
{
    hit h = {groat__tally_mine(&context->memory_hits), 0};

    if (atomic_load_explicit(h.count, memory_order_relaxed) % GROAT__SAMPLED ==
        0)
        h.start = groat__now_ns();
    return h;
}

/* What the table has, if it is loaded. */
static bool give_hit(groat_context *context, hit h, groat_kernel *kernel,
                     groat_kernel **out, groat_origin *origin)
{
    if (kernel == NULL || !groat__resident_hold(kernel))
        return false;
    groat__tally_add(h.count);
    if (origin != NULL)
        *origin = GROAT_FROM_MEMORY;
    *out = kernel;
    if (h.start != 0)
        groat__metrics_add(&context->metrics, GROAT__STAGE_LOOKUP, h.start);
    return true;
}

static groat_kernel *find_values(const groat_context *context,
                                 const groat__params *params)
{
    owner whose;
    groat__kernel_name name = name_of(params, &whose);

    return groat__kernel_table_find(&context->table, &name);
}

static groat_kernel *find_text(const groat_context *context, const char *spec,
                               const char *target)
{
    groat__kernel_name name = name_of_text(spec, target);

    return groat__kernel_table_find(&context->table, &name);
}

/* A sealed context's answer where the values are not in the table. */
static groat_status get_sealed_values(groat_context *context,
                                      const groat__params *params,
                                      groat_kernel **out, groat_origin *origin,
                                      groat_error *error)
{
    owner whose;
    groat__kernel_name name = name_of(params, &whose);

    if (groat__seal_note(&context->seal,
                         groat__seal_mark(&context->seal, &name)))
        groat__seal_explain(context, params, groat__kernel_name_hash(&name));
    return groat__seal_refuse(context, params->family->name,
                              strlen(params->family->name), params->target.text,
                              out, origin, error);
}

/* The same where the text is not: it may be another text of a kernel that is
 * in memory, an untimed hit.  A text that was refused before is not read again.
 */
static groat_status get_sealed_text(groat_context *context, hit untimed,
                                    const char *spec, const char *target,
                                    groat_kernel **out, groat_origin *origin,
                                    groat_error *error)
{
    groat__kernel_name name = name_of_text(spec, target);
    uint64_t mark = groat__seal_mark(&context->seal, &name);
    groat__target where;
    groat__params params;
    groat_kernel *kernel;
    groat_status status;

    if (groat__seal_has(&context->seal, mark))
        return groat__seal_refuse(context, spec, strlen(spec), target, out,
                                  origin, error);
    status = groat__context_target(context, target, &where, error);
    if (status == GROAT_OK)
        status = groat__spec_params(context, spec, &where, &params, error);
    if (status != GROAT_OK)
        return status;
    kernel = find_values(context, &params);
    if (give_hit(context, untimed, kernel, out, origin)) {
        remember(context, &name, kernel);
        return GROAT_OK;
    }
    status = get_sealed_values(context, &params, out, origin, error);
    (void)groat__seal_note(&context->seal, mark);
    return status;
}

groat_status groat_kernel_get(groat_context *context, const char *spec,
                              const char *target, groat_kernel **out,
                              groat_origin *origin, groat_error *error)
{
    groat__kernel_name name;
    groat_kernel *kernel;
    groat_spec *parsed = NULL;
    hit h = sample(context);
    groat_status status;

    if (groat__is_inherited(context))
        return groat__fail_inherited(error);
    if (target == NULL)
        target = groat_default_target(context);
    kernel = spec == NULL ? NULL : find_text(context, spec, target);
    if (give_hit(context, h, kernel, out, origin))
        return GROAT_OK;
    if (spec != NULL && groat__seal_is_on(&context->seal))
        return get_sealed_text(context, (hit){h.count, 0}, spec, target, out,
                               origin, error);
    status = groat_spec_parse(context, spec, target, &parsed, error);
    if (status == GROAT_OK)
        status = get(context, &parsed->params, true, &kernel, origin, error);
    groat_spec_free(parsed);
    if (status != GROAT_OK)
        return status;
    name = name_of_text(spec, target);
    remember(context, &name, kernel);
    *out = kernel;
    return GROAT_OK;
}

groat_status groat__kernel_get(groat_context *context,
                               const groat__params *params, bool sealed,
                               groat_kernel **out, groat_origin *origin,
                               groat_error *error)
{
    if (give_hit(context, sample(context), find_values(context, params), out,
                 origin))
        return GROAT_OK;
    if (sealed && groat__seal_is_on(&context->seal))
        return get_sealed_values(context, params, out, origin, error);
    return get(context, params, sealed, out, origin, error);
}

groat_status groat_kernel_get_spec(groat_spec *spec, groat_kernel **out,
                                   groat_origin *origin, groat_error *error)
{
    if (groat__is_inherited(spec->context))
        return groat__fail_inherited(error);
    return groat__kernel_get(spec->context, &spec->params, true, out, origin,
                             error);
}

groat_status groat_kernel_get_on(groat_spec *spec, void *stream,
                                 groat_kernel **out, groat_origin *origin,
                                 groat_error *error)
{
    groat_context *context = spec->context;
    groat__backend_id id = spec->params.target.backend;
    groat_status status = GROAT_OK;
    void *state = NULL;

    if (groat__is_inherited(spec->context))
        return groat__fail_inherited(error);
    if (give_hit(context, sample(context), find_values(context, &spec->params),
                 out, origin))
        return GROAT_OK;
    if (!groat__seal_is_on(&context->seal)) {
        status = groat__machine_device(context, id, &state, error);
        if (status == GROAT_OK)
            status =
                groat__backend_get(id)->device->may_load(state, stream, error);
    }
    return status == GROAT_OK ? groat_kernel_get_spec(spec, out, origin, error)
                              : status;
}

/* Without a bound, what the table has is loaded. */
static groat_kernel *if_loaded(const groat_context *context,
                               groat_kernel *kernel)
{
    return __builtin_expect(context->resident.max_bytes == 0, 1)
               ? kernel
               : groat__resident_look(kernel);
}

groat_kernel *groat_kernel_lookup(const groat_context *context,
                                  const char *spec, const char *target)
{
    if (groat__is_inherited(context))
        return NULL;
    if (target == NULL)
        target =
            atomic_load_explicit(&context->default_ready, memory_order_acquire);
    return spec == NULL || target == NULL
               ? NULL
               : if_loaded(context, find_text(context, spec, target));
}

groat_kernel *groat_kernel_lookup_spec(const groat_spec *spec)
{
    if (groat__is_inherited(spec->context))
        return NULL;
    return if_loaded(spec->context, find_values(spec->context, &spec->params));
}

static void fill_build_info(groat_spec *spec, journey *j,
                            groat_kernel_info *info)
{
    groat__str_free(&spec->entry);
    spec->entry = j->entry;
    memset(&j->entry, 0, sizeof(j->entry));
    free(spec->log);
    spec->log = j->made.binary.log;
    j->made.binary.log = NULL;
    free(spec->maker);
    spec->maker = maker_of(j);
    if (info->size >= sizeof(*info))
        info->maker = spec->maker != NULL ? spec->maker : "";
    info->spec = groat_spec_text(spec);
    info->target = spec->params.target.text;
    info->name = spec->entry.data;
    info->log = spec->log != NULL ? spec->log : "";
    info->origin = j->made.origin;
    info->compile_ms = j->made.compile_ms;
    info->load_ms = 0;
    info->facts = j->made.binary.facts;
    groat__info_fill(info, &j->shape, &j->key);
}

static groat_status build(journey *j, groat_error *error)
{
    groat_error own = GROAT_ERROR_INIT;
    groat__flight *flight = NULL;
    groat__present quiet;
    groat_status status =
        groat__flight_enter_build(j->context, &j->key, &flight, &j->made, &own);

    groat__quiet_begin(&j->context->callbacks, &quiet);
    if (status == GROAT_OK)
        status = obtain(j, &own);
    if (flight != NULL)
        groat__flight_land(j->context, flight, status, &own, NULL, &j->made);
    groat__quiet_end(&j->context->callbacks, &quiet);
    if (status != GROAT_OK)
        groat__error_copy(error, &own);
    groat_error_clear(&own);
    return status;
}

groat_status groat_build(groat_spec *spec, void **binary, size_t *bytes,
                         groat_kernel_info *info, groat_error *error)
{
    journey j;
    groat_status status;

    if (groat__is_inherited(spec->context))
        return groat__fail_inherited(error);
    if (info != NULL && info->size < GROAT__INFO_BYTES)
        return groat__fail(error, GROAT_INVALID,
                           "info.size is %zu; it is sizeof(groat_kernel_info), "
                           "%zu",
                           info->size, sizeof(*info));
    if ((binary == NULL) != (bytes == NULL))
        return groat__fail(error, GROAT_INVALID,
                           "binary and bytes must both be given or both be "
                           "NULL");
    status = begin(&j, spec->context, &spec->params, error);
    if (status == GROAT_OK)
        status = build(&j, error);
    if (status == GROAT_OK) {
        if (info != NULL)
            fill_build_info(spec, &j, info);
        if (binary != NULL) {
            *binary = j.made.binary.data;
            *bytes = j.made.binary.bytes;
            j.made.binary.data = NULL;
        }
    }
    end(&j);
    return status;
}
