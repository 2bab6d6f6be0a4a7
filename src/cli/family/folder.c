/* SPDX-License-Identifier: Apache-2.0
 *
 * folder.c makes a driver from run.def: it computes shapes, fills buffers, and
 * binds the fields of args.h.
 */
#include "cli/family/folder.h"

#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fs.h"
#include "kernels-src/driver/element.h"
#include "kernels-src/driver/shared.h"
#include "groat_tensor.h"
#include "spec/expr.h"

enum {
    TEXT_BYTES_MAX = 1 << 20, /* of run.def, args.h */
    ENUMERATOR_MAX = 64
};

static const uint64_t buffer_bytes_max = (uint64_t)1 << 40;

static const groat__folder *folder_of(const groat_plan *plan)
{
    /* driver is its first member. */
    return (const groat__folder *)(const void *)plan->driver;
}

GROAT_PRINTF(4, 5)
static groat_status refuse(const groat__folder *f, int line, groat_error *error,
                           const char *format, ...)
{
    char what[300];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(what, sizeof(what), format, args);
    va_end(args);
    return groat__run_def_fail(&f->def, line, GROAT_INVALID, what, error);
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
        status = refuse(s->folder, line, error, "'%.100s': %s", text, why);
    else if (status != GROAT_OK)
        status = refuse(s->folder, line, error, "%.250s", inner.text);
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
            status = refuse(s->folder, def->arg_line[i], error,
                            "%.64s is %" PRId64 ", allowed are %" PRId64
                            " to %" PRId64 " %.40s",
                            arg->name, plan->values[i], arg->min, arg->max,
                            arg->unit);
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
            return refuse(s->folder, from->line, error,
                          "'%.100s' is %" PRId64 ", below 0", from->shape[k],
                          to->shape[k]);
        if (__builtin_mul_overflow(bytes, (uint64_t)to->shape[k], &bytes) ||
            bytes > buffer_bytes_max)
            return refuse(s->folder, from->line, error,
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
        return refuse(s->folder, from->line, error,
                      "random from %g to %g of buffer %.64s: the first must be "
                      "no more than the second",
                      range[0], range[1], from->name);
    return has_range(element, range)
               ? GROAT_OK
               : refuse(s->folder, from->line, error,
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
        return refuse(f, from->line, error,
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
        return refuse(f, from->line, error,
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
            return refuse(s->folder, def->grid_line, error,
                          "'%.100s' is %" PRId64 ", allowed are 1 to 2^31 - 1 "
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
        status = refuse(s->folder, def->moved_line, error,
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
        return refuse(f, line, error,
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
        return refuse(f, line, error,
                      "field %.64s of args.h is an integer, and is given a "
                      "float",
                      field->name);
    if (field->bytes == 4 && isfinite(value) && !isfinite(narrow))
        return refuse(f, line, error,
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
        return refuse(f, line, error,
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

/* Returns the index of the buffer of that name, or buffer_count. */
static size_t buffer_of(const groat__run_def *def, const char *name)
{
    size_t i = 0;

    while (i < def->buffer_count && strcmp(def->buffers[i].name, name) != 0)
        i++;
    return i;
}

/* Sets a field from `value`: the name of a buffer or an argument, or an
 * expression. */
static groat_status put(const scope *s, const char *value, int line,
                        const groat__field *field, const uint64_t *addresses,
                        unsigned char *args, groat_error *error)
{
    const groat__folder *f = s->folder;
    size_t buffer = buffer_of(&f->def, value);
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
        return refuse(s->folder, map->line, error,
                      "the box has %zu dimensions, buffer %.64s has %zu",
                      map->rank, map->buffer, buffer->rank);
    for (size_t k = 0; k < buffer->rank && status == GROAT_OK; k++) {
        size_t from = buffer->rank - 1 - k;
        int64_t box = 0;

        status = evaluate(s, map->box[from], map->line, &box, error);
        if (status == GROAT_OK && (box < 1 || box > 256))
            status = refuse(s->folder, map->line, error,
                            "'%.100s' is %" PRId64 ", a box has 1 to 256 "
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
    index = buffer_of(&f->def, map->buffer);
    status = describe(s, map, &p->buffers[index], &tensor, error);
    if (status == GROAT_OK)
        status = evaluate(s, map->span, map->line, &span, error);
    if (status != GROAT_OK)
        return status;
    if (span != 0 && span != 32 && span != 64 && span != 128)
        return refuse(f, map->line, error,
                      "'%.100s' is %" PRId64 "; a swizzle's span has 0 (none), "
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

/* Returns the line of the buffer or argument of that name, or 0. */
static int line_of(const groat__run_def *def, const char *name)
{
    for (size_t i = 0; i < def->buffer_count; i++)
        if (strcmp(def->buffers[i].name, name) == 0)
            return def->buffers[i].line;
    for (size_t i = 0; i < def->arg_count; i++)
        if (strcmp(def->args[i].name, name) == 0)
            return def->arg_line[i];
    return 0;
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
        int line = own != NULL ? own->line : line_of(&f->def, field->name);

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

/* ---- opening ------------------------------------------------------------- */

/* Reads a text file of the folder; *out is NULL where there is none. */
static groat_status read_text(const groat__folder *f, const char *name,
                              char **out, groat_error *error)
{
    groat__str path = {0};
    groat_status status = GROAT_OK;
    size_t bytes = 0;

    *out = NULL;
    groat__str_addf(&path, "%s/%s", f->path, name);
    if (path.failed)
        return groat__fail(error, GROAT_NO_MEMORY, "no memory for a path");
    if (access(path.data, F_OK) == 0)
        status = groat__fs_read(path.data, TEXT_BYTES_MAX, out, &bytes, error);
    if (status == GROAT_OK && *out != NULL && strlen(*out) != bytes)
        status = groat__fail(error, GROAT_INVALID,
                             "%s has a NUL at byte %zu; a text has none",
                             path.data, strlen(*out));
    groat__str_free(&path);
    return status;
}

/* Checks that args.h has the field, and that it is a tensor map iff `map`. */
static groat_status check_field(const groat__folder *f, const char *name,
                                bool map, int line, groat_error *error)
{
    for (size_t k = 0; k < f->args.count; k++) {
        const groat__field *field = &f->args.fields[k];

        if (strcmp(field->name, name) != 0)
            continue;
        return (field->kind == GROAT__FIELD_MAP) == map
                   ? GROAT_OK
                   : refuse(f, line, error, "field %.64s of args.h is %s", name,
                            map ? "no tensor map" : "a tensor map");
    }
    return refuse(f, line, error, "args.h has no field %.64s", name);
}

static groat_status check_name(const groat__folder *f, const char *name,
                               const char *what, groat_error *error)
{
    int line = line_of(&f->def, name);

    return line == 0
               ? GROAT_OK
               : refuse(f, line, error, "%.64s is a %s of params.def already",
                        name, what);
}

/* Checks that no buffer or argument has the name of a parameter or constant. */
static groat_status check_names(const groat__folder *f, groat_error *error)
{
    size_t params = groat_family_param_count(f->family);
    size_t count = params + groat_family_derived_count(f->family);
    groat_status status = GROAT_OK;

    for (size_t i = 0; i < count && status == GROAT_OK; i++) {
        groat_param_info info = {.size = sizeof(info)};
        bool is_param = i < params;

        if ((is_param ? groat_family_param(f->family, i, &info, NULL)
                      : groat_family_derived(f->family, i - params, &info,
                                             NULL)) == GROAT_OK)
            status = check_name(f, info.name,
                                is_param ? "parameter" : "constant", error);
    }
    return status;
}

/* Checks that each bind and map names an existing field and buffer. */
static groat_status check_binds(const groat__folder *f, groat_error *error)
{
    const groat__run_def *def = &f->def;
    groat_status status = GROAT_OK;

    for (size_t i = 0; i < def->bind_count && status == GROAT_OK; i++)
        status = check_field(f, def->binds[i].field, false, def->binds[i].line,
                             error);
    for (size_t i = 0; i < def->map_count && status == GROAT_OK; i++) {
        const groat__run_map *map = &def->maps[i];

        status = check_field(f, map->field, true, map->line, error);
        if (status == GROAT_OK &&
            buffer_of(def, map->buffer) == def->buffer_count)
            status = refuse(f, map->line, error, "there is no buffer %.64s",
                            map->buffer);
    }
    return status;
}

static groat_status read_files(groat__folder *f, groat_error *error)
{
    char *args = NULL;
    groat_status status = groat__run_def_read(groat_family_name(f->family),
                                              f->text, &f->def, error);

    if (status == GROAT_OK)
        status = read_text(f, "args.h", &args, error);
    if (status == GROAT_OK && args == NULL)
        status = groat__fail(error, GROAT_INVALID, "%s/args.h is not there",
                             f->path);
    if (status == GROAT_OK)
        status = groat__args_struct_read(groat_family_name(f->family), args,
                                         &f->args, error);
    if (status == GROAT_OK && f->args.bytes > GROAT_PLAN_ARGS_BYTES)
        status = groat__fail(error, GROAT_INVALID,
                             "%s/args.h has %zu bytes of arguments, groat run "
                             "gives %d at most",
                             f->path, f->args.bytes, GROAT_PLAN_ARGS_BYTES);
    free(args);
    if (status == GROAT_OK)
        status = check_names(f, error);
    return status == GROAT_OK ? check_binds(f, error) : status;
}

/* Fills f->driver, the interface that the rest of the tool uses. */
static void make_driver(groat__folder *f)
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

groat_status groat__folder_open(const groat_family *family, unsigned seconds,
                                groat__folder **out, groat_error *error)
{
    groat__folder *f;
    groat_status status;

    *out = NULL;
    if (groat_family_folder(family) == NULL)
        return GROAT_OK;
    f = calloc(1, sizeof(*f));
    if (f == NULL)
        return groat__fail(error, GROAT_NO_MEMORY, "no memory for a family");
    f->family = family;
    f->path = groat_family_folder(family);
    f->reference.seconds = seconds;
    groat__str_addf(&f->reference.source, "%s/reference.c", f->path);
    status = f->reference.source.failed
                 ? groat__fail(error, GROAT_NO_MEMORY, "no memory for a path")
                 : read_text(f, "run.def", &f->text, error);
    if (status == GROAT_OK && f->text != NULL) {
        /* A link that leads nowhere is an error, not none. */
        f->has_reference = faccessat(AT_FDCWD, f->reference.source.data, F_OK,
                                     AT_SYMLINK_NOFOLLOW) == 0;
        status = read_files(f, error);
    }
    if (status == GROAT_OK && f->text != NULL) {
        make_driver(f);
        *out = f;
        return GROAT_OK;
    }
    groat__folder_close(f);
    return status;
}

groat_status groat__folder_driver(const groat_family *family, unsigned seconds,
                                  const groat_driver **driver,
                                  groat__folder **folder, groat_error *error)
{
    groat_status status;

    *folder = NULL;
    *driver = groat_driver_find(groat_family_name(family));
    if (*driver != NULL || groat_family_problem(family) != NULL)
        return GROAT_OK;
    status = groat__folder_open(family, seconds, folder, error);
    if (*folder != NULL)
        *driver = &(*folder)->driver;
    return status;
}

void groat__folder_close(groat__folder *f)
{
    if (f == NULL)
        return;
    groat__reference_close(&f->reference);
    free(f->text);
    free(f);
}
