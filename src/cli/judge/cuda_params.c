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

static const struct {
    const char *type, *dtype;
} known[] = {{"float", "f32"},
             {"double", "f64"},
             {"int", "i32"},
             {"unsigned", "u32"},
             {"unsigned int", "u32"},
             {"int32_t", "i32"},
             {"uint32_t", "u32"},
             {"short", "i16"},
             {"int16_t", "i16"},
             {"unsigned short", "u16"},
             {"uint16_t", "u16"},
             {"char", "i8"},
             {"signed char", "i8"},
             {"int8_t", "i8"},
             {"unsigned char", "u8"},
             {"uint8_t", "u8"},
             {"long long", "i64"},
             {"int64_t", "i64"},
             {"long", "i64"},
             {"unsigned long long", "u64"},
             {"unsigned long", "u64"},
             {"uint64_t", "u64"},
             {"size_t", "u64"},
             {"float2", "f32"},
             {"float4", "f32"},
             {"int4", "i32"},
             {"uint4", "u32"},
             {"double2", "f64"},
             {"bool", "u8"},
             {"char2", "i8"},
             {"char4", "i8"},
             {"uchar2", "u8"},
             {"uchar4", "u8"},
             {"short2", "i16"},
             {"short4", "i16"},
             {"ushort2", "u16"},
             {"ushort4", "u16"},
             {"int2", "i32"},
             {"uint2", "u32"},
             {"float3", "f32"},
             {"int3", "i32"},
             {"longlong2", "i64"},
             {"double4", "f64"},
             {"char3", "i8"},
             {"uchar3", "u8"},
             {"short3", "i16"},
             {"ushort3", "u16"},
             {"uint3", "u32"},
             {"double3", "f64"},
             {"float1", "f32"},
             {"longlong4", "i64"},
             {"ulonglong2", "u64"},
             {"ulonglong4", "u64"},
             {"__half", "f16"},
             {"half", "f16"},
             {"__half2", "f16"},
             {"half2", "f16"},
             {"__nv_bfloat16", "bf16"},
             {"nv_bfloat16", "bf16"},
             {"__nv_bfloat162", "bf16"},
             {"nv_bfloat162", "bf16"},
             {"__nv_fp8_e4m3", "e4m3"},
             {"__nv_fp8_e5m2", "e5m2"},
             {"dim3", "u32"}};

static const char *dtype_of(const char *type)
{
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (strcmp(known[i].type, type) == 0)
            return known[i].dtype;
    return NULL;
}

static bool is_dressing(const groat__cuda_token *t)
{
    return is(t, "const") || is(t, "volatile") || is(t, "__restrict__") ||
           is(t, "__restrict") || is(t, "restrict");
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

bool groat__cuda_finish(groat__cuda_param *param, groat__cuda_seen *s)
{
    bool named = s->base.len > 0;

    if (named) {
        groat__str_addn(&param->name, s->name.at, s->name.len);
        groat__str_addn(&param->type, s->start,
                        (size_t)(s->name.at - s->start));
        while (param->type.len > 0 &&
               isspace((unsigned char)param->type.data[param->type.len - 1]))
            param->type.data[--param->type.len] = '\0';
        param->dtype = dtype_of(s->base.data);
    }
    groat__str_free(&s->base);
    *s = (groat__cuda_seen){0};
    return named && !param->name.failed && !param->type.failed;
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

/* The dtype of a vector's elements, or NULL. */
static const char *vector_dtype(const char *type)
{
    const groat__cuda_token name = name_of(type);
    char word[16];

    if (name.len == 0 || name.len >= sizeof(word) || name.at[0] == '_' ||
        strchr("1234", name.at[name.len - 1]) == NULL)
        return NULL;
    memcpy(word, name.at, name.len);
    word[name.len] = '\0';
    return dtype_of(word);
}

bool groat__cuda_is_vector(const char *type)
{
    return vector_dtype(type) != NULL;
}

bool groat__cuda_member(const char *text, const char *type, const char *member,
                        groat__cuda_param *out)
{
    const groat__cuda_token name = name_of(type);
    groat__cuda_cursor c = {text, 1, true};
    groat__cuda_token t;

    out->dtype = vector_dtype(type);
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
