/* SPDX-License-Identifier: Apache-2.0
 *
 * npy.c reads and writes headers of .npy files.  The page numpy.lib.format of
 * numpy's manual describes the format: 0x93 "NUMPY", two bytes of version, the
 * header's length in 2 bytes (version 1) or 4, then a dictionary of 'descr',
 * 'fortran_order' and 'shape', padded with blanks to a multiple of 64.
 * Files are untrusted: everything is checked before it is used.
 */
#include "cli/family/npy.h"

#include <string.h>

enum { LEAD = 8, ALIGNMENT = 64 };

static const char magic[] = "\x93NUMPY";

bool groat__npy_is_named(const char *path)
{
    size_t len = strlen(path);

    return len > 4 && strcmp(path + len - 4, ".npy") == 0;
}

static const char *skip_blanks(const char *at)
{
    return at + strspn(at, " \n");
}

/* Skips blanks and `token`; returns NULL if the text is another. */
static const char *take(const char *at, const char *token)
{
    at = skip_blanks(at);
    return strncmp(at, token, strlen(token)) == 0 ? at + strlen(token) : NULL;
}

/* Reads a quoted text of at most `room` - 1 bytes; NULL if there is none. */
static const char *take_text(const char *at, char *out, size_t room)
{
    char quote = *(at = skip_blanks(at));
    size_t len;

    if (quote != '\'' && quote != '"')
        return NULL;
    len = strcspn(++at, quote == '"' ? "\"\\" : "'\\");
    if (at[len] != quote || len >= room)
        return NULL;
    memcpy(out, at, len);
    out[len] = '\0';
    return at + len + 1;
}

static const char *take_shape(const char *at, groat__npy *out)
{
    at = take(at, "(");
    while (at != NULL && *(at = skip_blanks(at)) != ')') {
        uint64_t size = 0;

        if (out->rank == GROAT__NPY_RANK || !groat__is_digit(*at))
            return NULL;
        for (; groat__is_digit(*at); at++)
            if (__builtin_mul_overflow(size, 10u, &size) ||
                __builtin_add_overflow(size, (uint64_t)(*at - '0'), &size))
                return NULL;
        out->shape[out->rank++] = size;
        at = skip_blanks(at);
        if (*at == ',')
            at++;
        else if (*at != ')')
            return NULL;
    }
    return at == NULL ? NULL : at + 1;
}

/* Reads the dictionary, whose keys may come in any order. */
static const char *read_dictionary(const char *at, groat__npy *out)
{
    static const char malformed[] = "its header is malformed";
    bool type = false;
    bool order = false;
    bool shape = false;
    char key[16];

    at = take(at, "{");
    while (at != NULL && *(at = skip_blanks(at)) != '}') {
        at = take_text(at, key, sizeof(key));
        at = at == NULL ? NULL : take(at, ":");
        if (at == NULL)
            return malformed;
        if (!type && strcmp(key, "descr") == 0) {
            type = true;
            at = take_text(at, out->type, sizeof(out->type));
        } else if (!order && strcmp(key, "fortran_order") == 0) {
            order = true;
            if (take(at, "True") != NULL)
                return "its rows lie in Fortran's order; write it from "
                       "numpy.ascontiguousarray()";
            at = take(at, "False");
        } else if (!shape && strcmp(key, "shape") == 0) {
            shape = true;
            at = take_shape(at, out);
        } else {
            return malformed;
        }
        if (at != NULL && *(at = skip_blanks(at)) == ',')
            at++;
        else if (at != NULL && *at != '}')
            return malformed;
    }
    return at != NULL && type && order && shape && *skip_blanks(at + 1) == '\0'
               ? NULL
               : malformed;
}

const char *groat__npy_read(const void *data, size_t bytes, groat__npy *out)
{
    const unsigned char *at = data;
    char header[GROAT__NPY_HEADER_MAX + 1];
    size_t wide;
    size_t len = 0;

    memset(out, 0, sizeof(*out));
    if (bytes < LEAD + 4 || memcmp(at, magic, sizeof(magic) - 1) != 0)
        return "it does not start as a .npy file does";
    if (at[6] < 1 || at[6] > 3)
        return "its version is none of 1, 2 and 3";
    wide = at[6] == 1 ? 2 : 4;
    for (size_t i = 0; i < wide; i++)
        len |= (size_t)at[LEAD + i] << (8 * i);
    if (len > GROAT__NPY_HEADER_MAX || len > bytes - LEAD - wide)
        return "its header is longer than the file, or than 65,536 bytes";
    memcpy(header, at + LEAD + wide, len);
    header[len] = '\0';
    if (strlen(header) != len)
        return "its header has a byte of zeros";
    out->data_at = LEAD + wide + len;
    return read_dictionary(header, out);
}

void groat__npy_head(const char *type, const int64_t *shape, size_t rank,
                     groat__str *out)
{
    groat__str text = {0};
    size_t len;

    groat__str_addf(&text, "{'descr': '%s', 'fortran_order': False, 'shape': (",
                    type);
    for (size_t i = 0; i < rank; i++) {
        groat__str_add_int(&text, shape[i]);
        groat__str_add(&text, i + 1 < rank ? ", " : rank == 1 ? "," : "");
    }
    groat__str_add(&text, "), }");
    len = (LEAD + 2 + text.len + 1 + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT -
          LEAD - 2;
    while (!text.failed && text.len + 1 < len)
        groat__str_add(&text, " ");
    groat__str_add(&text, "\n");
    out->failed = out->failed || text.failed;
    groat__str_add(out, magic);
    groat__str_addn(out, "\x01\x00", 2);
    groat__str_addn(out, (char[]){(char)(len & 255), (char)(len >> 8)}, 2);
    if (!text.failed)
        groat__str_addn(out, text.data, text.len);
    groat__str_free(&text);
}
