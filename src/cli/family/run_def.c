/* SPDX-License-Identifier: Apache-2.0
 *
 * run_def.c parses run.def into tables.  The text is untrusted: everything in
 * it is checked, and errors name file and line.  folder.c evaluates the
 * expressions.
 */
#include "cli/family/run_def.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/str.h"

/* Of ulp(N): a double has all whole numbers up to it. */
#define ULPS_MAX 9007199254740992.0

typedef struct reader {
    groat__run_def *def;
    char *at;       /* rest of the line */
    char field[61]; /* the beginning of the one read last, for messages */
    int line;
    groat_error *error;
} reader;

groat_status groat__run_def_fail(const groat__run_def *def, int line,
                                 groat_status status, const char *what,
                                 groat_error *error)
{
    for (size_t i = 0; i < def->from_count; i++)
        if (def->from[i].line == line)
            return groat__fail(error, status, "%.160s: %s", def->from[i].text,
                               what);
    return groat__fail(error, status, "%.64s/run.def:%d: %s", def->family, line,
                       what);
}

groat_status groat__run_def_refuse(const groat__run_def *def, int line,
                                   groat_error *error, const char *format, ...)
{
    char what[300];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(what, sizeof(what), format, args);
    va_end(args);
    return groat__run_def_fail(def, line, GROAT_INVALID, what, error);
}

size_t groat__run_def_buffer(const groat__run_def *def, const char *name)
{
    size_t i = 0;

    while (i < def->buffer_count && strcmp(def->buffers[i].name, name) != 0)
        i++;
    return i;
}

int groat__run_def_line(const groat__run_def *def, const char *name)
{
    for (size_t i = 0; i < def->buffer_count; i++)
        if (strcmp(def->buffers[i].name, name) == 0)
            return def->buffers[i].line;
    for (size_t i = 0; i < def->arg_count; i++)
        if (strcmp(def->args[i].name, name) == 0)
            return def->arg_line[i];
    return 0;
}

GROAT_PRINTF(2, 3)
static groat_status bad(reader *r, const char *format, ...)
{
    char what[256];
    char whole[360];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(what, sizeof(what), format, args);
    va_end(args);
    (void)snprintf(whole, sizeof(whole), "%s, at '%s'", what, r->field);
    return groat__run_def_fail(r->def, r->line, GROAT_INVALID, whole, r->error);
}

static void skip_blanks(reader *r)
{
    r->at += strspn(r->at, " \t");
}

/* Keeps what messages show: parsing changes the text. */
static void show(reader *r, const char *text)
{
    (void)snprintf(r->field, sizeof(r->field), "%s", text);
}

/* Returns the next field, up to a blank outside of parentheses, or NULL at the
 * end of the line. */
static char *take_word(reader *r)
{
    char *word;
    int depth = 0;

    skip_blanks(r);
    word = r->at;
    while (*r->at != '\0' && (depth > 0 || (*r->at != ' ' && *r->at != '\t'))) {
        depth += (*r->at == '(') - (*r->at == ')');
        r->at++;
    }
    if (*r->at != '\0')
        *r->at++ = '\0';
    show(r, word);
    return *word == '\0' ? NULL : word;
}

static char *take_quoted(reader *r)
{
    char *text;
    char *end;

    skip_blanks(r);
    show(r, r->at);
    if (*r->at != '"' || (end = strchr(r->at + 1, '"')) == NULL)
        return NULL;
    text = r->at + 1;
    *end = '\0';
    r->at = end + 1;
    return text;
}

static bool is_taken(const groat__run_def *def, const char *name)
{
    for (size_t i = 0; i < def->arg_count; i++)
        if (strcmp(def->args[i].name, name) == 0)
            return true;
    for (size_t i = 0; i < def->buffer_count; i++)
        if (strcmp(def->buffers[i].name, name) == 0)
            return true;
    return false;
}

static groat_status take_name(reader *r, const char **out)
{
    *out = take_word(r);
    /* Parameters of others' kernels may begin with an underscore. */
    if (*out == NULL || !groat__is_name(*out + strspn(*out, "_")))
        return bad(r, "a name expected");
    if (groat__is_keyword(*out))
        return bad(r, "the name is a word of C++");
    return is_taken(r->def, *out) ? bad(r, "the name is taken") : GROAT_OK;
}

static bool whole(const char *text, char **end, int64_t *out)
{
    if (!groat__is_digit(text[*text == '-']))
        return false;
    errno = 0;
    *out = strtoll(text, end, 10);
    return errno == 0;
}

bool groat__run_def_real(const char *text, char **end, double *out)
{
    if (!groat__is_digit(text[*text == '-']) && text[*text == '-'] != '.')
        return false;
    if (text[*text == '-'] == '0' && (text[1 + (*text == '-')] | 32) == 'x')
        return false;
    *out = strtod(text, end);
    return *end != text && *out <= 1.7e308 && *out >= -1.7e308;
}

/* Splits a list at its commas outside of parentheses; room + 1: too many. */
static size_t cut_list(char *list, const char **items, size_t room)
{
    size_t count = 0;
    int depth = 0;

    for (char *at = list;; at++) {
        bool ends = *at == '\0';

        depth += (*at == '(') - (*at == ')');
        if (!ends && (*at != ',' || depth > 0))
            continue;
        if (count == room)
            return room + 1;
        *at = '\0';
        items[count++] = list + strspn(list, " \t");
        list = at + 1;
        if (ends)
            return count;
    }
}

static groat_status take_end(reader *r)
{
    skip_blanks(r);
    show(r, r->at);
    return *r->at == '\0' ? GROAT_OK : bad(r, "the end of the line expected");
}

/* ---- lines -------------------------------------------------------------- */

static groat_status read_int_arg(reader *r, groat_driver_arg *arg,
                                 const char **expression)
{
    char *range = take_word(r);
    char *end = NULL;
    char *deflt;

    arg->type = GROAT_ARG_INT;
    if (range == NULL || !whole(range, &end, &arg->min) ||
        strncmp(end, "..", 2) != 0 || !whole(end + 2, &end, &arg->max) ||
        *end != '\0' || arg->min > arg->max)
        return bad(r, "LOW..HIGH expected");
    deflt = take_word(r);
    if (deflt == NULL)
        return bad(r, "a default expected");
    if (*deflt == '(') {
        *expression = deflt;
        return GROAT_OK;
    }
    return whole(deflt, &end, &arg->deflt) && *end == '\0' &&
                   arg->deflt >= arg->min && arg->deflt <= arg->max
               ? GROAT_OK
               : bad(r,
                     "a default from %lld to %lld, or an expression in "
                     "parentheses, expected",
                     (long long)arg->min, (long long)arg->max);
}

static groat_status read_float_arg(reader *r, groat_driver_arg *arg)
{
    char *dash = take_word(r);
    char *end = NULL;
    char *deflt;
    double value;

    arg->type = GROAT_ARG_FLOAT;
    if (dash == NULL || strcmp(dash, "-") != 0)
        return bad(r, "the allowed values of a float are '-'");
    deflt = take_word(r);
    if (deflt == NULL || !groat__run_def_real(deflt, &end, &value) ||
        *end != '\0')
        return bad(r, "a number expected");
    arg->deflt = groat_arg_of_real(value);
    return GROAT_OK;
}

static groat_status read_arg(reader *r)
{
    groat__run_def *def = r->def;
    groat_driver_arg *arg = &def->args[def->arg_count];
    groat_status status;
    const char *type;
    const char *name;

    if (def->arg_count == GROAT_DRIVER_ARGS)
        return bad(r, "more than %d arguments", GROAT_DRIVER_ARGS);
    status = take_name(r, &name);
    if (status != GROAT_OK)
        return status;
    type = take_word(r);
    if (type != NULL && strcmp(type, "int") == 0)
        status = read_int_arg(r, arg, &def->deflt[def->arg_count]);
    else if (type != NULL && strcmp(type, "float") == 0)
        status = read_float_arg(r, arg);
    else
        status = bad(r, "the type must be int or float");
    if (status != GROAT_OK)
        return status;
    arg->unit = take_word(r);
    arg->meaning = take_quoted(r);
    if (arg->unit == NULL || arg->meaning == NULL)
        return bad(r, "unit and \"meaning\" expected");
    arg->name = name;
    def->arg_line[def->arg_count++] = r->line;
    return take_end(r);
}

/* Parses a shape "[a, b]". */
static groat_status read_shape(reader *r, const char *shape[GROAT_RANK],
                               size_t *rank)
{
    char *start;
    char *end;

    skip_blanks(r);
    show(r, r->at);
    end = *r->at == '[' ? strchr(r->at, ']') : NULL;
    if (end == NULL)
        return bad(r, "a shape [EXPRESSION, ...] expected");
    start = r->at + 1;
    *end = '\0';
    r->at = end + 1;
    *rank = cut_list(start, shape, GROAT_RANK);
    return *rank <= GROAT_RANK ? GROAT_OK
                               : bad(r, "more than %d dimensions", GROAT_RANK);
}

/* Returns what stands between the parentheses of "word(...)", with its end in
 * place of the last one; NULL: text is no "word(...)". */
static char *inside(char *text, const char *word)
{
    size_t len = strlen(word);
    char *last = text + strlen(text) - 1;

    if (strncmp(text, word, len) != 0 || text[len] != '(' || *last != ')')
        return NULL;
    *last = '\0';
    return text + len + 1;
}

/* Whether a relative path stays below where it begins. */
static bool stays_inside(const char *path)
{
    if (*path == '/' || *path == '\0')
        return false;
    for (; *path != '\0'; path += *path == '/') {
        size_t len = strcspn(path, "/");

        if (len == 2 && strncmp(path, "..", 2) == 0)
            return false;
        path += len;
    }
    return true;
}

static groat_status read_fill(reader *r, groat__run_buffer *buffer)
{
    static const char expected[] =
        "random(LOW,HIGH), ramp, zeros, poison or file(PATH) in the family's "
        "folder expected";
    static const char *const plain[] = {"random", "ramp", "zeros", "poison"};
    char *word = take_word(r);
    char *range;

    if (word == NULL)
        return bad(r, expected);
    for (int i = 1; i < 4; i++)
        if (strcmp(word, plain[i]) == 0) {
            buffer->fill = (groat__fill)i;
            return GROAT_OK;
        }
    buffer->fill = GROAT__FILL_FILE;
    buffer->path = inside(word, "file");
    if (buffer->path != NULL)
        return stays_inside(buffer->path) ? GROAT_OK : bad(r, expected);
    buffer->fill = GROAT__FILL_RANDOM;
    range = inside(word, "random");
    return range != NULL && cut_list(range, buffer->range, 2) == 2
               ? GROAT_OK
               : bad(r, expected);
}

static groat_status read_tolerance(reader *r, groat__run_buffer *buffer)
{
    static const char expected[] =
        "exact, ulp(N) with a whole N, relative(X) or none expected, after "
        "file(PATH) in the family's folder if a file has the content";
    char *word = take_word(r);
    char *end = NULL;
    char *number;

    if (word != NULL)
        buffer->expected = inside(word, "file");
    if (buffer->expected != NULL && !stays_inside(buffer->expected))
        return bad(r, expected);
    if (buffer->expected != NULL)
        word = take_word(r);
    if (word == NULL)
        return bad(r, expected);
    if (strcmp(word, "exact") == 0 || strcmp(word, "none") == 0) {
        buffer->tolerance =
            *word == 'e' ? GROAT_TOLERANCE_EXACT : GROAT_TOLERANCE_NONE;
        return GROAT_OK;
    }
    buffer->tolerance = GROAT_TOLERANCE_ULP;
    number = inside(word, "ulp");
    if (number == NULL) {
        buffer->tolerance = GROAT_TOLERANCE_RELATIVE;
        number = inside(word, "relative");
    }
    return number != NULL &&
                   groat__run_def_real(number, &end, &buffer->allowed) &&
                   *end == '\0' && buffer->allowed >= 0 &&
                   (buffer->tolerance != GROAT_TOLERANCE_ULP ||
                    (buffer->allowed <= ULPS_MAX &&
                     buffer->allowed == floor(buffer->allowed)))
               ? GROAT_OK
               : bad(r, expected);
}

static groat_status read_buffer(reader *r)
{
    groat__run_def *def = r->def;
    groat__run_buffer *buffer = &def->buffers[def->buffer_count];
    groat_status status;
    const char *way;

    if (def->buffer_count == GROAT_PLAN_BUFFERS)
        return bad(r, "more than %d buffers", GROAT_PLAN_BUFFERS);
    buffer->line = r->line;
    status = take_name(r, &buffer->name);
    if (status == GROAT_OK)
        status = read_shape(r, buffer->shape, &buffer->rank);
    if (status != GROAT_OK)
        return status;
    buffer->dtype = take_word(r);
    if (buffer->dtype == NULL)
        return bad(r, "a dtype expected");
    way = take_word(r);
    buffer->input =
        way != NULL && (strcmp(way, "in") == 0 || strcmp(way, "inout") == 0);
    buffer->output =
        way != NULL && (strcmp(way, "out") == 0 || strcmp(way, "inout") == 0);
    if (!buffer->input && !buffer->output)
        return bad(r, "in, out or inout expected");
    buffer->fill = GROAT__FILL_POISON;
    if (buffer->input)
        status = read_fill(r, buffer);
    if (status == GROAT_OK && buffer->output)
        status = read_tolerance(r, buffer);
    if (status != GROAT_OK)
        return status;
    buffer->meaning = take_quoted(r);
    if (buffer->meaning == NULL)
        return bad(r, "a \"meaning\" expected");
    def->buffer_count++;
    return take_end(r);
}

/* Parses "FIELD =", and refuses a field that is bound already. */
static groat_status read_field(reader *r, const char **out)
{
    const groat__run_def *def = r->def;
    bool taken = false;

    *out = take_word(r);
    skip_blanks(r);
    show(r, r->at);
    if (!groat__is_name(*out) || *r->at != '=')
        return bad(r, "FIELD = VALUE expected");
    r->at++;
    for (size_t i = 0; i < def->bind_count; i++)
        taken |= strcmp(def->binds[i].field, *out) == 0;
    for (size_t i = 0; i < def->map_count; i++)
        taken |= strcmp(def->maps[i].field, *out) == 0;
    return taken ? bad(r, "field %.64s is bound twice", *out) : GROAT_OK;
}

static groat_status read_bind(reader *r)
{
    groat__run_def *def = r->def;
    groat__run_bind *bind = &def->binds[def->bind_count];
    groat_status status;

    if (def->bind_count == GROAT__RUN_BINDS)
        return bad(r, "more than %d binds", GROAT__RUN_BINDS);
    bind->line = r->line;
    status = read_field(r, &bind->field);
    if (status != GROAT_OK)
        return status;
    skip_blanks(r);
    bind->value = r->at;
    if (*bind->value == '\0')
        return bad(r, "a value expected");
    def->bind_count++;
    return GROAT_OK;
}

static groat_status read_map(reader *r)
{
    groat__run_def *def = r->def;
    groat__run_map *map = &def->maps[def->map_count];
    groat_status status;

    if (def->map_count == GROAT__RUN_MAPS)
        return bad(r, "more than %d maps", GROAT__RUN_MAPS);
    map->line = r->line;
    status = read_field(r, &map->field);
    if (status != GROAT_OK)
        return status;
    map->buffer = take_word(r);
    if (!groat__is_name(map->buffer))
        return bad(r, "a buffer's name expected");
    status = read_shape(r, map->box, &map->rank);
    if (status != GROAT_OK)
        return status;
    skip_blanks(r);
    map->span = r->at;
    if (*map->span == '\0')
        return bad(r, "the bytes of the swizzle's span expected: 0, 32, 64 or "
                      "128, or an expression");
    def->map_count++;
    return GROAT_OK;
}

static groat_status read_grid(reader *r)
{
    size_t count;

    skip_blanks(r);
    show(r, r->at);
    if (r->def->grid_line != 0)
        return bad(r, "grid is there once, in line %d", r->def->grid_line);
    r->def->grid_line = r->line;
    count = cut_list(r->at, r->def->grid, 3);
    return count <= 3 ? GROAT_OK : bad(r, "at most 3 expressions expected");
}

static groat_status read_moved(reader *r)
{
    skip_blanks(r);
    show(r, r->at);
    if (r->def->moved != NULL)
        return bad(r, "moved is there once, in line %d", r->def->moved_line);
    r->def->moved = r->at;
    r->def->moved_line = r->line;
    return GROAT_OK;
}

static groat_status read_driver(reader *r)
{
    if (r->def->driver != NULL)
        return bad(r, "driver is there once, in line %d", r->def->driver_line);
    r->def->driver = take_word(r);
    r->def->driver_line = r->line;
    if (!groat__is_name(r->def->driver))
        return bad(r, "the name of a family of the library expected");
    return take_word(r) == NULL ? GROAT_OK
                                : bad(r, "the end of the line expected");
}

static groat_status check_alone(const reader *r)
{
    const groat__run_def *def = r->def;

    return def->driver == NULL ||
                   (def->arg_count == 0 && def->buffer_count == 0 &&
                    def->bind_count == 0 && def->map_count == 0 &&
                    def->grid_line == 0 && def->moved == NULL)
               ? GROAT_OK
               : groat__run_def_fail(def, def->driver_line, GROAT_INVALID,
                                     "a driver stands alone: it makes "
                                     "arguments, buffers and grid",
                                     r->error);
}

/* Keeps what a comment says of the next line's origin. */
static void keep_origin(reader *r, const char *word)
{
    groat__run_def *def = r->def;

    if (word != NULL && strcmp(word, "#from") == 0 && *r->at != '\0' &&
        def->from_count < GROAT_PLAN_BUFFERS)
        def->from[def->from_count++] = (groat__run_from){r->line + 1, r->at};
}

static groat_status read_line(reader *r)
{
    static const struct {
        const char *word;
        groat_status (*read)(reader *r);
    } lines[] = {{"arg", read_arg},      {"buffer", read_buffer},
                 {"bind", read_bind},    {"map", read_map},
                 {"grid", read_grid},    {"moved", read_moved},
                 {"driver", read_driver}};
    const char *word = take_word(r);

    if (word == NULL || *word == '#') {
        keep_origin(r, word);
        return GROAT_OK;
    }
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
        if (strcmp(lines[i].word, word) == 0)
            return lines[i].read(r);
    return bad(r, "arg, buffer, bind, map, grid, moved or driver expected");
}

groat_status groat__run_def_read(const char *family, char *text,
                                 groat__run_def *out, groat_error *error)
{
    reader r = {.def = out, .error = error};
    groat_status status = GROAT_OK;

    memset(out, 0, sizeof(*out));
    out->family = family;
    text += groat__skip_mark(text) - text;
    while (status == GROAT_OK && *text != '\0') {
        size_t len = strcspn(text, "\n");
        bool last = text[len] == '\0';

        text[len] = '\0';
        if (len > 0 && text[len - 1] == '\r')
            text[len - 1] = '\0';
        r.line++;
        r.at = text;
        show(&r, text);
        status = read_line(&r);
        text += len + (last ? 0 : 1);
    }
    return status == GROAT_OK ? check_alone(&r) : status;
}

bool groat__enumerator_next(const char **list, size_t index, const char **name,
                            size_t *len, int64_t *value)
{
    const char *at = *list;
    size_t whole_len = strcspn(at, "|");

    if (*at == '\0')
        return false;
    *name = at;
    *len = strcspn(at, "=|");
    *value =
        at[*len] == '=' ? strtoll(at + *len + 1, NULL, 10) : (int64_t)index;
    *list = at + whole_len + (at[whole_len] == '|');
    return true;
}
