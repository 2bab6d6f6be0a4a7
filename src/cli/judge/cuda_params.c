/* SPDX-License-Identifier: Apache-2.0
 *
 * cuda_params.c reads declarations of CUDA C++ that make values for a kernel:
 * its parameters, and the members of structures that it takes by value.
 */
#include "cli/judge/cuda_params.h"

#include <ctype.h>
#include <string.h>

static bool is(const groat__cuda_token *t, const char *word)
{
    return groat__cuda_is(t, word);
}

/* ---- a declaration --------------------------------------------------------
 */

/* Scalars, and what CUDA's vectors begin with: "uchar" of uchar4. */
static const struct {
    const char *type, *dtype;
} known[] = {{"float", "f32"},
             {"double", "f64"},
             {"int", "i32"},
             {"unsigned", "u32"},
             {"unsigned int", "u32"},
             {"uint", "u32"},
             {"dim", "u32"},
             {"int32_t", "i32"},
             {"uint32_t", "u32"},
             {"short", "i16"},
             {"int16_t", "i16"},
             {"unsigned short", "u16"},
             {"ushort", "u16"},
             {"uint16_t", "u16"},
             {"bool", "u8"},
             {"char", "i8"},
             {"signed char", "i8"},
             {"int8_t", "i8"},
             {"unsigned char", "u8"},
             {"uchar", "u8"},
             {"uint8_t", "u8"},
             {"long", "i64"},
             {"long long", "i64"},
             {"longlong", "i64"},
             {"int64_t", "i64"},
             {"unsigned long", "u64"},
             {"unsigned long long", "u64"},
             {"ulong", "u64"},
             {"ulonglong", "u64"},
             {"uint64_t", "u64"},
             {"size_t", "u64"},
             {"__half", "f16"},
             {"half", "f16"},
             {"__half2", "f16"},
             {"__nv_bfloat16", "bf16"},
             {"nv_bfloat16", "bf16"},
             {"__nv_bfloat162", "bf16"},
             {"__nv_fp8_e4m3", "e4m3"},
             {"__nv_fp8_e5m2", "e5m2"}};

static const char *find_dtype(const char *type, size_t len)
{
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (groat__is_text(type, len, known[i].type))
            return known[i].dtype;
    return NULL;
}

/* The dtype of the elements of a vector, "float4", or NULL. */
static const char *vector_dtype(const char *type, size_t len)
{
    if (len < 2 || *type == '_' || strchr("1234", type[len - 1]) == NULL)
        return NULL;
    return find_dtype(type, len - 1);
}

static const char *dtype_of(const char *type)
{
    const char *dtype = find_dtype(type, strlen(type));

    return dtype != NULL ? dtype : vector_dtype(type, strlen(type));
}

static bool is_dressing(const groat__cuda_token *t)
{
    return is(t, "const") || is(t, "volatile") || is(t, "__restrict__") ||
           is(t, "__restrict") || is(t, "restrict") ||
           is(t, "__grid_constant__");
}

void groat__cuda_see(groat__cuda_param *param, groat__cuda_seen *s,
                     const groat__cuda_token *t)
{
    if (s->start == NULL)
        s->start = t->at;
    s->over = s->over || *t->at == '=';
    if (s->over)
        return;
    if (is(t, "const") && !param->pointer)
        param->constant = true;
    param->in_place =
        param->in_place || *t->at == '*' || is(t, "__grid_constant__");
    param->deep = param->deep || (*t->at == '*' && param->pointer);
    if (*t->at == '*' || *t->at == '[')
        param->pointer = true;
    s->over = *t->at == '[';
    if (!groat__is_word(*t->at) || is_dressing(t))
        return;
    if (s->name.len > 0)
        groat__str_addf(&s->base, "%s%.*s", s->base.len ? " " : "",
                        (int)s->name.len, s->name.at);
    s->name = *t;
}

bool groat__cuda_finish(groat__cuda_param *param, groat__cuda_seen *s,
                        size_t number)
{
    bool named = s->base.len > 0; /* else the only word is its type's */
    const char *end = named ? s->name.at : s->name.at + s->name.len;
    bool failed;

    if (named)
        groat__str_addn(&param->name, s->name.at, s->name.len);
    else
        groat__str_addf(&param->name, "unnamed%zu", number);
    groat__str_addn(&param->type, s->start, (size_t)(end - s->start));
    while (param->type.len > 0 &&
           isspace((unsigned char)param->type.data[param->type.len - 1]))
        param->type.data[--param->type.len] = '\0';
    if (!named)
        groat__str_addn(&s->base, s->name.at, s->name.len);
    failed = s->base.failed || param->name.failed || param->type.failed;
    if (!failed)
        param->dtype = dtype_of(s->base.data);
    param->map =
        !failed && !param->deep && strcmp(s->base.data, "CUtensorMap") == 0;
    param->map_at = param->map && param->pointer;
    groat__str_free(&s->base);
    *s = (groat__cuda_seen){0};
    return !failed;
}

/* ---- members --------------------------------------------------------------
 */

/* Moves behind "struct NAME {"; false if the text has none. */
static bool find_structure(groat__cuda_cursor *c, const groat__cuda_token *name)
{
    groat__cuda_token t = groat__cuda_take_text(c);

    while (t.len > 0) {
        bool begins = is(&t, "struct") || is(&t, "class");

        t = groat__cuda_take_text(c);
        while (begins && (is(&t, "alignas") || is(&t, "__align__"))) {
            (void)groat__cuda_take(c);
            (void)groat__cuda_take_to(c, '(', ')');
            t = groat__cuda_take_text(c);
        }
        if (!begins || t.len != name->len ||
            strncmp(t.at, name->at, t.len) != 0)
            continue;
        do
            t = groat__cuda_take_text(c);
        while (t.len > 0 && !is(&t, "{") && !is(&t, ";"));
        if (is(&t, "{"))
            return true;
    }
    return false;
}

/* Fills *out if the name that was seen is the member's. */
static bool take_member(const groat__cuda_param *seen_so_far,
                        const groat__cuda_seen *s, const char *member,
                        groat__cuda_param *out)
{
    if (s->base.len == 0 || !is(&s->name, member))
        return false;
    groat__str_addf(&out->type, "%s%s%s", seen_so_far->constant ? "const " : "",
                    s->base.data, seen_so_far->pointer ? " *" : "");
    out->pointer = seen_so_far->pointer;
    out->constant = seen_so_far->constant;
    out->dtype = dtype_of(s->base.data);
    return true;
}

/* Reads "TYPE NAME, *NAME2 = VALUE;" from its first token to its end, and fills
 * *out if one of the names is the member's.  What is no value is skipped:
 * functions, arrays and static members. */
static bool read_member(groat__cuda_cursor *c, groat__cuda_token t,
                        const char *member, groat__cuda_param *out)
{
    groat__cuda_seen s = {0};
    groat__cuda_param param = {0};
    bool found = false;
    bool plain = true;

    for (; t.len > 0 && !is(&t, ";"); t = groat__cuda_take_text(c)) {
        bool body = is(&t, "{");

        if (body)
            (void)groat__cuda_take_to(c, '{', '}');
        if (body && !plain)
            break; /* it ends a function's definition */
        plain = plain && !is(&t, "(") && !is(&t, "[") && !is(&t, "static") &&
                !is(&t, "using");
        if (body || !plain)
            continue;
        if (!is(&t, ",")) {
            groat__cuda_see(&param, &s, &t);
            continue;
        }
        found = found || take_member(&param, &s, member, out);
        /* The next name has the same type, without this one's stars. */
        s.name = (groat__cuda_token){"", 0, 0};
        s.over = false;
        param.pointer = param.deep = false;
    }
    found = found || (plain && take_member(&param, &s, member, out));
    groat__str_free(&s.base);
    return found;
}

/* The name of a type: "Params" of "const cfg::Params". */
static groat__cuda_token name_of(const char *type)
{
    groat__cuda_cursor c = {type, 1, true};
    groat__cuda_token last = {"", 0, 0};
    groat__cuda_token t;

    while ((t = groat__cuda_take(&c)).len > 0)
        if (groat__is_word(*t.at) && !is_dressing(&t))
            last = t;
    return last;
}

bool groat__cuda_is_vector(const char *type)
{
    const groat__cuda_token name = name_of(type);

    return vector_dtype(name.at, name.len) != NULL;
}

bool groat__cuda_member(const char *text, const char *type, const char *member,
                        groat__cuda_param *out)
{
    const groat__cuda_token name = name_of(type);
    groat__cuda_cursor c = {text, 1, true};
    groat__cuda_token t;

    out->dtype = vector_dtype(name.at, name.len);
    if (out->dtype != NULL) {
        groat__str_addf(&out->type, "%s::%s", type, member);
        return strlen(member) == 1 &&
               memchr("xyzw", *member, (size_t)(name.at[name.len - 1] - '0')) !=
                   NULL;
    }
    if (!find_structure(&c, &name))
        return false;
    while (t = groat__cuda_take_text(&c), t.len > 0 && !is(&t, "}")) {
        if (is(&t, "public") || is(&t, "private") || is(&t, "protected"))
            (void)groat__cuda_take_text(&c); /* the colon */
        else if (read_member(&c, t, member, out))
            return true;
    }
    return false;
}
