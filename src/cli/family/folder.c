/* SPDX-License-Identifier: Apache-2.0
 *
 * folder.c makes a driver from run.def: it computes shapes, fills buffers, and
 * binds the fields of args.h.
 */
#include "cli/family/folder.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "kernels-src/driver/element.h"
#include "kernels-src/driver/shared.h"
#include "groat_tensor.h"
#include "spec/expr.h"

enum { ENUMERATOR_MAX = 64 };

static const uint64_t buffer_bytes_max = (uint64_t)1 << 40;

static const groat__folder *folder_of(const groat_plan *plan)
{
    /* driver is its first member. */
    return (const groat__folder *)(const void *)plan->driver;
}

/* ---- what names and expressions are worth ---------------------------------
 */

typedef struct scope {
    const groat__folder *folder;
    const groat_spec *spec;
    const int64_t *values; /* of the first arg_count arguments */
    size_t arg_count;
} scope;

static bool find_enumerator(const groat_family *family, const char *name,
                            size_t len, int64_t *value)
{
    for (size_t i = 0; i < groat_family_param_count(family); i++) {
        groat_param_info info = {.size = sizeof(info)};
        const char *list;
        const char *found;
        size_t found_len;

        if (groat_family_param(family, i, &info, NULL) != GROAT_OK ||
            info.type != GROAT_PARAM_ENUM)
            continue;
        list = info.allowed;
        for (size_t k = 0;
             groat__enumerator_next(&list, k, &found, &found_len, value); k++)
            if (found_len == len && memcmp(found, name, len) == 0)
                return true;
    }
    return false;
}

static bool find_name(void *user, const char *name, size_t len,
                      groat__name *out)
{
    const scope *s = user;
    char word[ENUMERATOR_MAX];

    if (len >= sizeof(word))
        return false;
    memcpy(word, name, len);
    word[len] = '\0';
    out->is_constant = true;
    for (size_t i = 0; i < s->arg_count; i++)
        if (strcmp(s->folder->def.args[i].name, word) == 0) {
            out->value = s->values[i];
            return s->folder->def.args[i].type == GROAT_ARG_INT;
        }
    return groat_spec_get(s->spec, word, &out->value, NULL) == GROAT_OK ||
           find_enumerator(s->folder->family, name, len, &out->value);
}

static groat_status evaluate(const scope *s, const char *text, int line,
                             int64_t *out, groat_error *error)
{
    groat_error inner = GROAT_ERROR_INIT;
    const char *why = NULL;
    groat__expr expr = {0};
    groat_status status = groat__expr_compile(
        text, strlen(text), find_name, (void *)(uintptr_t)s, &expr, &inner);

    if (status == GROAT_OK && !groat__expr_eval(&expr, NULL, out, &why))
        status = groat__run_def_refuse(&s->folder->def, line, error,
                                       "'%.100s': %s", text, why);
    else if (status != GROAT_OK)
        status = groat__run_def_refuse(&s->folder->def, line, error, "%.250s",
                                       inner.text);
    groat__expr_free(&expr);
    groat_error_clear(&inner);
    return status;
}

/* Returns the element type of "bf16" or "{PARAMETER}", or NULL. */
static const groat__element *
element_of(const groat__folder *f, const groat_spec *spec, const char *word)
{
    size_t len = strlen(word);
    int64_t value = 0;
    int64_t fnuz = 0;

    if (word[0] != '{' || word[len - 1] != '}')
        return groat__element_find(word, len);
    for (size_t i = 0; i < groat_family_param_count(f->family); i++) {
        groat_param_info info = {.size = sizeof(info)};
        const char *list;
        const char *name;
        size_t name_len;
        int64_t found;

        if (groat_family_param(f->family, i, &info, NULL) != GROAT_OK ||
            strlen(info.name) != len - 2 ||
            strncmp(info.name, word + 1, len - 2) != 0 ||
            info.type != GROAT_PARAM_ENUM ||
            groat_spec_get(spec, info.name, &value, NULL) != GROAT_OK)
            continue;
        list = info.allowed;
        for (size_t k = 0;
             groat__enumerator_next(&list, k, &name, &name_len, &found); k++) {
            if (found != value)
                continue;
            if (name_len != 3 || strncmp(name, "fp8", 3) != 0)
                return groat__element_find(name, name_len);
            (void)groat_spec_get(spec, "arch_fp8_fnuz", &fnuz, NULL);
            return groat__element_find(fnuz ? "e4m3fnuz" : "e4m3",
                                       fnuz ? 8 : 4);
        }
    }
    return NULL;
}

/* ---- planning ------------------------------------------------------------ */

static groat_status resolve_args(scope *s, const int64_t *given,
                                 groat_plan *plan, groat_error *error)
{
    const groat__run_def *def = &s->folder->def;

    for (; s->arg_count < def->arg_count; s->arg_count++) {
        size_t i = s->arg_count;
        const groat_driver_arg *arg = &def->args[i];
        groat_status status = GROAT_OK;

        plan->values[i] = given[i];
        if (given[i] == GROAT_ARG_UNSET && def->deflt[i] != NULL)
            status = evaluate(s, def->deflt[i], def->arg_line[i],
                              &plan->values[i], error);
        if (status == GROAT_OK && arg->type == GROAT_ARG_INT &&
            (plan->values[i] < arg->min || plan->values[i] > arg->max))
            status = groat__run_def_refuse(
                &s->folder->def, def->arg_line[i], error,
                "%.64s is %" PRId64 ", allowed are %" PRId64 " to %" PRId64
                " %.40s",
                arg->name, plan->values[i], arg->min, arg->max, arg->unit);
        if (status != GROAT_OK)
            return status;
    }
    return GROAT_OK;
}

static groat_status plan_shape(const scope *s, const groat__run_buffer *from,
                               groat_buffer *to, groat_error *error)
{
    uint64_t bytes = (uint64_t)to->element->bytes;

    to->rank = from->rank;
    for (size_t k = 0; k < from->rank; k++) {
        groat_status status =
            evaluate(s, from->shape[k], from->line, &to->shape[k], error);

        if (status != GROAT_OK)
            return status;
        if (to->shape[k] < 0)
            return groat__run_def_refuse(&s->folder->def, from->line, error,
                                         "'%.100s' is %" PRId64 ", below 0",
                                         from->shape[k], to->shape[k]);
        if (__builtin_mul_overflow(bytes, (uint64_t)to->shape[k], &bytes) ||
            bytes > buffer_bytes_max)
            return groat__run_def_refuse(
                &s->folder->def, from->line, error,
                "buffer %.64s has more than 2^40 bytes", from->name);
    }
    to->bytes = bytes;
    return GROAT_OK;
}

/* Whether a float type has a number, but for its rounding. */
static bool has_float(const groat__element *element, double number)
{
    unsigned char bytes[8];
    double stored;

    groat__element_store(element, number, bytes);
    stored = groat__element_load(element, bytes);
    return fabs(number) <= 1 ||
           (isfinite(stored) &&
            fabs(number) <= fabs(stored) * (1 + ldexp(1, -element->mantissa)));
}

/* Whether a type has all numbers of a range. */
static bool has_range(const groat__element *element, const double range[2])
{
    bool is_signed = element->kind == GROAT__ELEMENT_SIGNED;
    double most = ldexp(1, 8 * element->bytes - (is_signed ? 1 : 0));

    if (element->kind == GROAT__ELEMENT_FLOAT)
        return has_float(element, range[0]) && has_float(element, range[1]);
    /* The largest number of 8 bytes is rounded to `most`. */
    return range[0] >= (is_signed ? -most : 0) &&
           (element->bytes == 8 ? range[1] <= most : range[1] < most);
}

/* Computes the lowest and the highest number of random(LOW,HIGH). */
static groat_status range_of(const scope *s, const groat__run_buffer *from,
                             const groat__element *element, double range[2],
                             groat_error *error)
{
    for (size_t i = 0; i < 2; i++) {
        char *end = NULL;
        int64_t whole = 0;
        groat_status status;

        if (groat__run_def_real(from->range[i], &end, &range[i]) &&
            end[strspn(end, " \t")] == '\0')
            continue;
        status = evaluate(s, from->range[i], from->line, &whole, error);
        if (status != GROAT_OK)
            return status;
        range[i] = (double)whole;
    }
    if (element->kind != GROAT__ELEMENT_FLOAT) {
        range[0] = ceil(range[0]);
        range[1] = floor(range[1]);
    }
    if (range[0] > range[1])
        return groat__run_def_refuse(
            &s->folder->def, from->line, error,
            "random from %g to %g of buffer %.64s: the first must be "
            "no more than the second",
            range[0], range[1], from->name);
    return has_range(element, range)
               ? GROAT_OK
               : groat__run_def_refuse(
                     &s->folder->def, from->line, error,
                     "random from %g to %g of buffer %.64s: %s does not "
                     "have these numbers",
                     range[0], range[1], from->name, element->name);
}

static groat_status plan_buffer(const scope *s, const groat__run_buffer *from,
                                groat_buffer *to, groat_error *error)
{
    const groat__folder *f = s->folder;
    double range[2];
    groat_status status;

    to->name = from->name;
    to->element = element_of(f, s->spec, from->dtype);
    if (to->element == NULL)
        return groat__run_def_refuse(
            &f->def, from->line, error,
            "'%.60s' is no dtype; dtypes: %s, or {PARAMETER} whose "
            "value is one of them or fp8",
            from->dtype, GROAT__ELEMENT_NAMES);
    to->output = from->output;
    to->filled = from->output && from->input;
    to->file = from->fill == GROAT__FILL_FILE ? from->path : NULL;
    to->expected = from->expected;
    to->tolerance = from->tolerance;
    to->allowed = from->allowed;
    if (to->tolerance != GROAT_TOLERANCE_EXACT &&
        to->tolerance != GROAT_TOLERANCE_NONE &&
        to->element->kind != GROAT__ELEMENT_FLOAT)
        return groat__run_def_refuse(
            &f->def, from->line, error,
            "ulp and relative are for floats, %.60s is exact or none",
            to->element->name);
    status = plan_shape(s, from, to, error);
    if (status == GROAT_OK && from->fill == GROAT__FILL_RANDOM)
        status = range_of(s, from, to->element, range, error);
    return status;
}

static groat_status plan_grid(const scope *s, groat_plan *plan,
                              groat_error *error)
{
    const groat__run_def *def = &s->folder->def;

    for (size_t i = 0; i < 3; i++) {
        int64_t value = 1;
        groat_status status = GROAT_OK;

        if (def->grid[i] != NULL)
            status = evaluate(s, def->grid[i], def->grid_line, &value, error);
        if (status != GROAT_OK)
            return status;
        if (value < 1 || value > INT32_MAX)
            return groat__run_def_refuse(&s->folder->def, def->grid_line, error,
                                         "'%.100s' is %" PRId64
                                         ", allowed are 1 to 2^31 - 1 "
                                         "blocks",
                                         def->grid[i], value);
        plan->grid[i] = (unsigned)value;
    }
    return GROAT_OK;
}

static groat_status plan_moved(const scope *s, groat_plan *plan,
                               groat_error *error)
{
    const groat__run_def *def = &s->folder->def;
    int64_t moved = 0;
    groat_status status;

    for (size_t i = 0; i < plan->buffer_count; i++)
        plan->moved_bytes +=
            plan->buffers[i].bytes * (plan->buffers[i].filled ? 2u : 1u);
    if (def->moved == NULL)
        return GROAT_OK;
    status = evaluate(s, def->moved, def->moved_line, &moved, error);
    if (status == GROAT_OK && moved < 0)
        status =
            groat__run_def_refuse(&s->folder->def, def->moved_line, error,
                                  "moved is %" PRId64 " bytes, below 0", moved);
    plan->moved_bytes = (uint64_t)moved;
    return status;
}

static groat_status plan(const groat_spec *spec, const int64_t *values,
                         groat_plan *p, groat_error *error)
{
    const groat__folder *f = folder_of(p);
    scope s = {f, spec, p->values, 0};
    groat_status status = resolve_args(&s, values, p, error);

    for (size_t i = 0; i < f->def.buffer_count && status == GROAT_OK; i++) {
        status = plan_buffer(&s, &f->def.buffers[i], &p->buffers[i], error);
        p->buffer_count++;
    }
    if (status == GROAT_OK)
        status = plan_grid(&s, p, error);
    p->args_bytes = f->args.bytes;
    return status == GROAT_OK ? plan_moved(&s, p, error) : status;
}

/* ---- filling --------------------------------------------------------------
 */

static double number_for(groat__fill fill, const double range[2],
                         const groat__element *element, size_t index,
                         uint64_t *state)
{
    /* Below this, whole numbers are exact in the type and a ramp is too. */
    uint64_t period = element->kind == GROAT__ELEMENT_FLOAT
                          ? (uint64_t)2 << element->mantissa
                          : (uint64_t)1 << 53;
    double part;

    if (fill == GROAT__FILL_ZEROS)
        return 0;
    if (fill == GROAT__FILL_RAMP)
        return (double)(index % period);
    part = (double)(groat__host_draw(state) >> 11) * 0x1p-53;
    if (element->kind == GROAT__ELEMENT_FLOAT)
        return range[0] + part * (range[1] - range[0]);
    return floor(range[0] + part * (range[1] - range[0] + 1));
}

/* Stores element `index` of an integer ramp, modulo the type's range. */
static void store_ramp(const groat__element *element, size_t index, void *at)
{
    uint64_t value = index;

    memcpy(at, &value, (size_t)element->bytes);
}

static void fill(const groat_spec *spec, const groat_plan *p, size_t index,
                 uint64_t seed, void *data)
{
    const groat__run_buffer *from = &folder_of(p)->def.buffers[index];
    const groat_buffer *buffer = &p->buffers[index];
    const groat__element *element = buffer->element;
    size_t width = (size_t)element->bytes;
    uint64_t state = groat__host_mix(seed * GROAT_PLAN_BUFFERS + index + 1);
    const scope s = {folder_of(p), spec, p->values,
                     folder_of(p)->def.arg_count};
    double range[2] = {0, 0};
    unsigned char *to = data;

    /* plan() has computed the range, too. */
    if (from->fill == GROAT__FILL_RANDOM)
        (void)range_of(&s, from, element, range, NULL);
    if (from->fill == GROAT__FILL_POISON) {
        groat__element_spoil(element, buffer->bytes, data);
        return;
    }
    for (size_t i = 0; i < buffer->bytes / width; i++)
        if (from->fill == GROAT__FILL_RAMP &&
            element->kind != GROAT__ELEMENT_FLOAT)
            store_ramp(element, i, to + i * width);
        else
            groat__element_store(
                element, number_for(from->fill, range, element, i, &state),
                to + i * width);
}

/* ---- binding ------------------------------------------------------------- */

static groat_status put_whole(const groat__folder *f, int line,
                              const groat__field *field, int64_t value,
                              unsigned char *args, groat_error *error)
{
    size_t bits = 8 * field->bytes;
    float narrow = (float)value;
    double wide = (double)value;

    if (field->kind == GROAT__FIELD_FLOAT) {
        memcpy(args + field->at,
               field->bytes == 4 ? (void *)&narrow : (void *)&wide,
               field->bytes);
        return GROAT_OK;
    }
    if (field->kind == GROAT__FIELD_UNSIGNED
            ? value < 0 || (bits < 64 && value >> bits != 0)
            : bits < 64 && value >> (bits - 1) != 0 &&
                  value >> (bits - 1) != -1)
        return groat__run_def_refuse(
            &f->def, line, error,
            "field %.64s of args.h has %zu bits, which do not hold "
            "%" PRId64,
            field->name, bits, value);
    memcpy(args + field->at, &value, field->bytes);
    return GROAT_OK;
}

static groat_status put_real(const groat__folder *f, int line,
                             const groat__field *field, double value,
                             unsigned char *args, groat_error *error)
{
    float narrow = (float)value;

    if (field->kind != GROAT__FIELD_FLOAT)
        return groat__run_def_refuse(
            &f->def, line, error,
            "field %.64s of args.h is an integer, and is given a "
            "float",
            field->name);
    if (field->bytes == 4 && isfinite(value) && !isfinite(narrow))
        return groat__run_def_refuse(
            &f->def, line, error,
            "field %.64s of args.h is a float, which does not hold "
            "%g",
            field->name, value);
    memcpy(args + field->at,
           field->bytes == 4 ? (void *)&narrow : (void *)&value, field->bytes);
    return GROAT_OK;
}

static groat_status put_address(const groat__folder *f, int line,
                                const groat__field *field, uint64_t address,
                                unsigned char *args, groat_error *error)
{
    if (field->kind == GROAT__FIELD_FLOAT || field->bytes != 8)
        return groat__run_def_refuse(
            &f->def, line, error,
            "field %.64s of args.h is given a buffer's address; it "
            "must be an integer of 8 bytes",
            field->name);
    memcpy(args + field->at, &address, sizeof(address));
    return GROAT_OK;
}

/* Casts const away: the reference is the only part that a launch changes. */
static groat__reference *reference_of(const groat__folder *f)
{
    return (groat__reference *)(uintptr_t)&f->reference;
}

/* Sets a field from `value`: the name of a buffer or an argument, or an
 * expression. */
static groat_status put(const scope *s, const char *value, int line,
                        const groat__field *field, const uint64_t *addresses,
                        unsigned char *args, groat_error *error)
{
    const groat__folder *f = s->folder;
    size_t buffer = groat__run_def_buffer(&f->def, value);
    int64_t number = 0;
    groat_status status;

    if (buffer < f->def.buffer_count)
        return put_address(f, line, field, addresses[buffer], args, error);
    for (size_t i = 0; i < f->def.arg_count; i++)
        if (strcmp(f->def.args[i].name, value) == 0 &&
            f->def.args[i].type == GROAT_ARG_FLOAT)
            return put_real(f, line, field, groat_arg_real(s->values[i]), args,
                            error);
    status = evaluate(s, value, line, &number, error);
    return status == GROAT_OK ? put_whole(f, line, field, number, args, error)
                              : status;
}

static const groat__run_map *map_of(const groat__run_def *def,
                                    const char *field)
{
    for (size_t i = 0; i < def->map_count; i++)
        if (strcmp(def->maps[i].field, field) == 0)
            return &def->maps[i];
    return NULL;
}

/* The whole buffer; a groat_tensor lists the innermost dimension first. */
static groat_status describe(const scope *s, const groat__run_map *map,
                             const groat_buffer *buffer, groat_tensor *out,
                             groat_error *error)
{
    uint64_t stride = (uint64_t)buffer->element->bytes;
    groat_status status = GROAT_OK;

    out->elem_bytes = (unsigned)buffer->element->bytes;
    out->rank = (unsigned)buffer->rank;
    if (map->rank != buffer->rank)
        return groat__run_def_refuse(
            &s->folder->def, map->line, error,
            "the box has %zu dimensions, buffer %.64s has %zu", map->rank,
            map->buffer, buffer->rank);
    for (size_t k = 0; k < buffer->rank && status == GROAT_OK; k++) {
        size_t from = buffer->rank - 1 - k;
        int64_t box = 0;

        status = evaluate(s, map->box[from], map->line, &box, error);
        if (status == GROAT_OK && (box < 1 || box > 256))
            status = groat__run_def_refuse(&s->folder->def, map->line, error,
                                           "'%.100s' is %" PRId64
                                           ", a box has 1 to 256 "
                                           "elements of a dimension",
                                           map->box[from], box);
        out->box[k] = (unsigned)box;
        out->dims[k] = (uint64_t)buffer->shape[from];
        if (k > 0)
            out->strides[k - 1] = stride;
        stride *= out->dims[k];
    }
    return status;
}

static groat_status put_map(groat_context *context, const scope *s,
                            const groat__field *field, const groat_plan *p,
                            const uint64_t *addresses, unsigned char *args,
                            groat_error *error)
{
    const groat__folder *f = s->folder;
    const groat__run_map *map = map_of(&f->def, field->name);
    groat_tensor tensor = GROAT_TENSOR_INIT;
    groat_error inner = GROAT_ERROR_INIT;
    groat_tensor_map made;
    groat_status status;
    int64_t span = 0;
    size_t index;

    if (map == NULL)
        return groat__fail(error, GROAT_INVALID,
                           "%.64s/run.def: field %.64s of args.h is a tensor "
                           "map: write: map %.64s = BUFFER [BOX, ...] SPAN",
                           f->def.family, field->name, field->name);
    index = groat__run_def_buffer(&f->def, map->buffer);
    status = describe(s, map, &p->buffers[index], &tensor, error);
    if (status == GROAT_OK)
        status = evaluate(s, map->span, map->line, &span, error);
    if (status != GROAT_OK)
        return status;
    if (span != 0 && span != 32 && span != 64 && span != 128)
        return groat__run_def_refuse(&f->def, map->line, error,
                                     "'%.100s' is %" PRId64
                                     "; a swizzle's span has 0 (none), "
                                     "32, 64 or 128 bytes",
                                     map->span, span);
    tensor.swizzle =
        (groat_swizzle)(span >= 32 ? 1 + (span >= 64) + (span >= 128) : 0);
    tensor.address = addresses[index];
    status = groat_tensor_map_make(context, groat_spec_target(s->spec), &tensor,
                                   &made, &inner);
    if (status == GROAT_OK)
        memcpy(args + field->at, &made, sizeof(made));
    else
        (void)groat__run_def_fail(&f->def, map->line, status, inner.text,
                                  error);
    groat_error_clear(&inner);
    return status;
}

static const groat__run_bind *bind_of(const groat__run_def *def,
                                      const char *field)
{
    for (size_t i = 0; i < def->bind_count; i++)
        if (strcmp(def->binds[i].field, field) == 0)
            return &def->binds[i];
    return NULL;
}

/* A field without a bind takes the buffer, argument or constant of its name. */
static groat_status bind(groat_context *context, const groat_spec *spec,
                         groat_plan *p, const uint64_t *addresses,
                         groat_error *error)
{
    const groat__folder *f = folder_of(p);
    scope s = {f, spec, p->values, f->def.arg_count};
    groat_status status = GROAT_OK;

    groat__reference_forget(reference_of(f));
    for (size_t i = 0; i < f->args.count && status == GROAT_OK; i++) {
        const groat__field *field = &f->args.fields[i];
        const groat__run_bind *own = bind_of(&f->def, field->name);
        int line =
            own != NULL ? own->line : groat__run_def_line(&f->def, field->name);

        if (field->kind == GROAT__FIELD_MAP) {
            status = put_map(context, &s, field, p, addresses, p->args, error);
            if (status != GROAT_OK)
                return status;
            continue;
        }
        status = put(&s, own != NULL ? own->value : field->name, line, field,
                     addresses, p->args, error);
        if (status != GROAT_OK && line == 0)
            return groat__fail(error, GROAT_INVALID,
                               "%.64s/run.def: field %.64s of args.h has no "
                               "value: name a buffer or an argument so, or "
                               "write: bind %.64s = ...",
                               f->def.family, field->name, field->name);
    }
    return status;
}

/* ---- what is expected -----------------------------------------------------
 */

static groat_status expect(const groat_spec *spec, const groat_plan *p,
                           const void *const *inputs, size_t index, void *data,
                           groat_error *error)
{
    const groat__folder *f = folder_of(p);

    return groat__reference_run(reference_of(f), f->family, spec, p, inputs,
                                index, data, error);
}

void groat__folder_make_driver(groat__folder *f)
{
    for (size_t i = 0; i < f->def.arg_count; i++)
        if (f->def.deflt[i] != NULL)
            f->def.args[i].deflt = GROAT_ARG_UNSET;
    f->driver = (groat_driver){
        .family = f->def.family,
        .args = f->def.args,
        .plan = plan,
        .fill = fill,
        .bind = bind,
        .expect = expect,
    };
}
