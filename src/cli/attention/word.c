/* SPDX-License-Identifier: Apache-2.0
 *
 * word.c parses the shape of a decode: names and values as in a spec.  The
 * library checks whether the shape is valid.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/near.h"
#include "cli/attention/attention.h"

typedef enum kind { COUNT, REAL, WORD, FLAG, VARIED } kind;

typedef struct field {
    const char *name;
    kind kind;
    size_t offset;      /* in groat__decode_word               */
    unsigned flag;      /* set if the value is not 0; of REAL always */
    const char *values; /* of WORD, in the order of their numbers */
} field;

#define AT(member)     offsetof(groat__decode_word, shape.member)
#define CHOICE(member) offsetof(groat__decode_word, choice.member)

static const field fields[] = {
    {"dtype", WORD, AT(dtype), 0, "bf16|f16"},
    {"kv_dtype", WORD, AT(kv_dtype), 0, "bf16|f16|e4m3"},
    {"kv_scale", WORD, AT(kv_scale), 0, "tensor|head|token"},
    {"heads", COUNT, AT(heads), 0, NULL},
    {"kv_heads", COUNT, AT(kv_heads), 0, NULL},
    {"head_dim", COUNT, AT(head_dim), 0, NULL},
    {"value_dim", COUNT, AT(value_dim), 0, NULL},
    {"q_len", COUNT, AT(q_len), 0, NULL},
    {"page", COUNT, AT(page), 0, NULL},
    {"layout", WORD, AT(layout), 0, "page_head|head_page"},
    {"mask", WORD, AT(mask), 0, "causal|window|chunk"},
    {"seen", COUNT, AT(seen), 0, NULL},
    {"scale", REAL, AT(scale), 0, NULL},
    {"cap", REAL, AT(cap), GROAT_DECODE_CAP, NULL},
    {"alibi", FLAG, 0, GROAT_DECODE_ALIBI, NULL},
    {"sink", FLAG, 0, GROAT_DECODE_SINK, NULL},
    {"lse", FLAG, 0, GROAT_DECODE_LSE, NULL},
    {"tree", FLAG, 0, GROAT_DECODE_TREE, NULL},
    {"batch_invariant", FLAG, 0, GROAT_DECODE_BATCH_INVARIANT, NULL},
    {"overlap", FLAG, 0, GROAT_DECODE_OVERLAP, NULL},
    {"sequences", COUNT, AT(sequences), 0, NULL},
    {"keys", COUNT, AT(keys), 0, NULL},
    {"batch", COUNT, offsetof(groat__decode_word, batch), 0, NULL},
    {"length", COUNT, offsetof(groat__decode_word, length), 0, NULL},
    {"varied", VARIED, 0, 0, NULL},
    {"warps", COUNT, CHOICE(warps), 0, NULL},
    {"stages", COUNT, CHOICE(stages), 0, NULL},
    {"cluster", COUNT, CHOICE(cluster), 0, NULL},
    {"split", COUNT, CHOICE(split), 0, NULL},
    {"blocks", COUNT, CHOICE(blocks), 0, NULL},
    {"least", COUNT, CHOICE(least), 0, NULL},
};

enum { FIELDS = sizeof(fields) / sizeof(fields[0]), VALUE_ROOM = 32 };

static const field *find(const char *name, size_t len)
{
    for (size_t i = 0; i < FIELDS; i++)
        if (groat__is_text(name, len, fields[i].name))
            return &fields[i];
    return NULL;
}

/* Fails with "... has no 'nam'; did you mean 'name'? names: ..." */
static groat_status refuse_name(const char *name, size_t len,
                                groat_error *error)
{
    groat__near near;
    groat__str out = {0};

    groat__str_addf(&out, "a decode has no '%.*s'", (int)len, name);
    groat__near_start(&near, name, len);
    for (size_t i = 0; i < FIELDS; i++)
        groat__near_try(&near, fields[i].name, strlen(fields[i].name));
    groat__near_tell(&near, "names", &out);
    for (size_t i = 0; i < FIELDS; i++)
        groat__str_addf(&out, "%s%s", i > 0 ? ", " : "", fields[i].name);
    (void)groat__fail(error, GROAT_INVALID, "%s",
                      out.failed ? "out of memory" : out.data);
    groat__str_free(&out);
    return GROAT_INVALID;
}

/* Returns the index of a word in "one|two", or -1. */
static int number_of(const char *words, const char *text)
{
    size_t len = strlen(text);

    for (int i = 0; len > 0; i++) {
        size_t word = strcspn(words, "|");

        if (word == len && memcmp(words, text, len) == 0)
            return i;
        if (words[word] == '\0')
            break;
        words += word + 1;
    }
    return -1;
}

static groat_status set(const field *f, const char *text,
                        groat__decode_word *out, groat_error *error)
{
    char *at = (char *)out + f->offset;
    const char *allowed = f->kind == REAL    ? "a number of a float's range"
                          : f->kind == WORD  ? f->values
                          : f->kind == COUNT ? "a whole number of 32 bits"
                                             : "0, 1";
    int64_t whole = 0;
    double real = 0;
    bool right;

    if (f->kind == WORD)
        whole = number_of(f->values, text);
    right = f->kind == REAL
                ? groat__opt_real(text, &real) && isfinite((float)real) &&
                      ((float)real != 0 || real == 0)
            : f->kind == WORD
                ? whole >= 0
                : groat__opt_whole(text, &whole) && whole >= 0 &&
                      whole <= (f->kind == COUNT ? UINT32_MAX : 1);
    if (!right)
        return groat__fail(error, GROAT_INVALID,
                           "%s of a decode is '%s'; allowed: %s", f->name, text,
                           allowed);
    if (f->kind == REAL)
        memcpy(at, &(float){(float)real}, sizeof(float));
    else if (f->kind == VARIED)
        out->varied = whole != 0;
    else if (f->kind != FLAG)
        memcpy(at, &(unsigned){(unsigned)whole}, sizeof(unsigned));
    if (f->flag != 0 && (f->kind == REAL || whole != 0))
        out->shape.flags |= f->flag;
    return GROAT_OK;
}

/* Sets the field of NAME=VALUE; *given has a bit for each field seen. */
static groat_status set_one(const char *text, size_t len, uint64_t *given,
                            groat__decode_word *out, groat_error *error)
{
    const char *equals = memchr(text, '=', len);
    size_t name = equals == NULL ? len : (size_t)(equals - text);
    const field *f = find(text, name);
    char value[VALUE_ROOM];

    if (f == NULL)
        return refuse_name(text, name, error);
    if (equals == NULL)
        return groat__fail(error, GROAT_INVALID,
                           "'%.*s' of a decode has no value: write "
                           "%.*s=VALUE",
                           (int)len, text, (int)len, text);
    if (len - name - 1 >= sizeof(value))
        return groat__fail(error, GROAT_INVALID,
                           "the value of %s has %zu characters; allowed: "
                           "up to %zu",
                           f->name, len - name - 1, sizeof(value) - 1);
    if (*given >> (f - fields) & 1)
        return groat__fail(error, GROAT_INVALID,
                           "%s of a decode is given twice", f->name);
    *given |= (uint64_t)1 << (f - fields);
    memcpy(value, equals + 1, len - name - 1);
    value[len - name - 1] = '\0';
    return set(f, value, out, error);
}

static groat_status check_load(const groat__decode_word *word,
                               groat_error *error)
{
    if (word->batch > word->shape.sequences)
        return groat__fail(error, GROAT_INVALID,
                           "batch of a decode is %u; allowed: up to its "
                           "sequences, %u",
                           word->batch, word->shape.sequences);
    if (word->length > word->shape.keys)
        return groat__fail(error, GROAT_INVALID,
                           "length of a decode is %u; allowed: up to its "
                           "keys, %u",
                           word->length, word->shape.keys);
    return GROAT_OK;
}

groat_status groat__decode_word_parse(const char *text, bool on_cpu,
                                      groat__decode_word *out,
                                      groat_error *error)
{
    const groat_decode_shape start = GROAT_DECODE_SHAPE_INIT;
    const groat_decode_choice none = GROAT_DECODE_CHOICE_INIT;
    bool own_kv = strstr(text, "kv_dtype=") != NULL;
    groat_status status = GROAT_OK;
    uint64_t given = 0;

    *out =
        (groat__decode_word){.shape = start, .choice = none, .varied = on_cpu};
    out->shape.heads = on_cpu ? 8 : 64;
    out->shape.kv_heads = on_cpu ? 2 : 8;
    out->shape.head_dim = 128;
    out->shape.page = 16;
    out->shape.sequences = on_cpu ? 4 : 64;
    out->shape.keys = on_cpu ? 300 : 4096;
    while (*text != '\0' && status == GROAT_OK) {
        size_t len = strcspn(text, ",");

        status = set_one(text, len, &given, out, error);
        text += len;
        text += *text == ',';
        text += strspn(text, " ");
    }
    if (!own_kv)
        out->shape.kv_dtype = out->shape.dtype;
    return status == GROAT_OK ? check_load(out, error) : status;
}

const groat_decode_choice *
groat__decode_word_choice(const groat__decode_word *word)
{
    const groat_decode_choice *c = &word->choice;

    return (c->warps | c->stages | c->cluster | c->split | c->blocks |
            c->least) == 0
               ? NULL
               : c;
}
