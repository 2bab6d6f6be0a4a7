/* SPDX-License-Identifier: Apache-2.0
 *
 * files.c - the input and output files of buffers: raw bytes, or .npy.
 *
 * Errors in a file's name, size or header are reported before anything is
 * compiled.
 */
#include "cli/run/files.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kernels-src/driver/element.h"
#include "cli/family/folder.h"
#include "cli/family/npy.h"

static void list_buffers(const groat_plan *plan, bool outputs, groat__str *out)
{
    for (size_t i = 0; i < plan->buffer_count; i++) {
        const groat_buffer *buffer = &plan->buffers[i];

        if (outputs ? buffer->output : groat_buffer_is_input(buffer))
            groat__str_addf(out, "%s%s", out->len ? ", " : "", buffer->name);
    }
}

/* Finds the buffer and the path of "NAME=FILE"; "FILE" is for the first one. */
static groat_status find_buffer(const char *option, const char *word,
                                bool outputs, const groat_plan *plan,
                                size_t *index, const char **path,
                                groat_error *error)
{
    const char *equals = strchr(word, '=');
    size_t len = equals ? (size_t)(equals - word) : 0;
    groat__str names = {0};
    groat_status status;

    for (size_t i = 0; i < plan->buffer_count; i++) {
        const groat_buffer *buffer = &plan->buffers[i];
        bool named = equals && groat__is_text(word, len, buffer->name);
        bool fits = outputs ? buffer->output : groat_buffer_is_input(buffer);

        if (!fits || (equals && !named))
            continue;
        *index = i;
        *path = equals ? equals + 1 : word;
        return GROAT_OK;
    }
    list_buffers(plan, outputs, &names);
    status = groat__fail(error, GROAT_INVALID,
                         "%s %s: the family has no such %s buffer; it has "
                         "%s",
                         option, word, outputs ? "output" : "input",
                         names.len ? names.data : "none");
    groat__str_free(&names);
    return status;
}

/* A float type that numpy lacks, such as bf16, may also be raw bits: "V2".  A
 * bool is a byte of 0 or 1. */
static bool is_type(const char *type, const groat__element *element)
{
    char bits[8];

    if (strcmp(type, element->npy) == 0)
        return true;
    if (strcmp(type, "|b1") == 0)
        return strcmp(element->npy, "|u1") == 0 &&
               element->kind == GROAT__ELEMENT_UNSIGNED;
    (void)snprintf(bits, sizeof(bits), "V%d", element->bytes);
    return element->npy[1] == 'u' && element->kind == GROAT__ELEMENT_FLOAT &&
           (type[0] == '|' || type[0] == '<') && strcmp(type + 1, bits) == 0;
}

static groat_status check_npy(const char *option, const char *path,
                              const groat_buffer *buffer, const void *data,
                              size_t bytes, size_t *at, groat_error *error)
{
    groat__npy npy;
    const char *wrong = groat__npy_read(data, bytes, &npy);
    const groat__element *element = buffer->element;
    bool same;

    if (wrong)
        return groat__fail(error, GROAT_INVALID, "%s %s: %s", option, path,
                           wrong);
    *at = npy.data_at;
    if (!element)
        return GROAT_OK;
    if (!is_type(npy.type, element))
        return groat__fail(error, GROAT_INVALID,
                           "%s %s holds '%s', buffer %s is %s, which is "
                           "'%s' in .npy files",
                           option, path, npy.type, buffer->name, element->name,
                           element->npy);
    same = npy.rank == buffer->rank;
    for (size_t k = 0; same && k < npy.rank; k++)
        same = npy.shape[k] == (uint64_t)buffer->shape[k];
    if (!same) {
        groat__str shapes = {0};

        for (size_t k = 0; k < npy.rank; k++)
            groat__str_addf(&shapes, "%s%" PRIu64, k ? ", " : "", npy.shape[k]);
        groat__str_addf(&shapes, "], buffer %s has [", buffer->name);
        for (size_t k = 0; k < buffer->rank; k++)
            groat__str_addf(&shapes, "%s%" PRId64, k ? ", " : "",
                            buffer->shape[k]);
        (void)groat__fail(error, GROAT_INVALID, "%s %s has the shape [%s]",
                          option, path, shapes.failed ? "" : shapes.data);
        groat__str_free(&shapes);
        return GROAT_INVALID;
    }
    return GROAT_OK;
}

/* header: bytes of a .npy file in front of its data; 0: it has none. */
static groat_status say_size(const char *option, const char *path,
                             uint64_t bytes, size_t header,
                             const groat_buffer *buffer, groat_error *error)
{
    return groat__fail(error, GROAT_INVALID,
                       "%s %s has %" PRIu64 " bytes%s, buffer %s has %zu bytes",
                       option, path, bytes - header,
                       header > 0 ? " behind its header" : "", buffer->name,
                       buffer->bytes);
}

/* Checks the header of a .npy file; *at is the offset of its data, else 0. */
static groat_status look_into(const char *option, const char *path, FILE *file,
                              const groat_buffer *buffer, size_t *at,
                              groat_error *error)
{
    groat_status status;
    size_t room = GROAT__NPY_HEADER_MAX + 16;
    char *head;
    size_t got;

    *at = 0;
    if (!groat__npy_is_named(path))
        return GROAT_OK;
    head = malloc(room);
    if (!head)
        return groat__fail(error, GROAT_NO_MEMORY, "out of memory");
    got = fread(head, 1, room, file);
    status = check_npy(option, path, buffer, head, got, at, error);
    free(head);
    return status;
}

static groat_status check_file(const char *option, const char *path,
                               const groat_buffer *buffer, groat_error *error)
{
    groat_status status;
    struct stat facts;
    FILE *file;
    size_t at;

    if (stat(path, &facts) || access(path, R_OK))
        return groat__fail(error, GROAT_IO, "%s %s: %s", option, path,
                           strerror(errno));
    if (S_ISDIR(facts.st_mode))
        return groat__fail(error, GROAT_IO, "%s %s: %s", option, path,
                           strerror(EISDIR));
    if (!S_ISREG(facts.st_mode))
        return GROAT_OK;
    file = fopen(path, "rbe");
    if (!file)
        return groat__fail(error, GROAT_IO, "%s %s: %s", option, path,
                           strerror(errno));
    status = look_into(option, path, file, buffer, &at, error);
    (void)fclose(file);
    if (!status && (uint64_t)facts.st_size - at != buffer->bytes)
        status =
            say_size(option, path, (uint64_t)facts.st_size, at, buffer, error);
    return status;
}

static groat_status take_list(const char *option, const groat__list *words,
                              bool outputs, groat__trial *trial,
                              const char **paths, groat_error *error)
{
    groat_status status = GROAT_OK;

    for (size_t i = 0; i < words->count && !status; i++) {
        const char *path = NULL;
        size_t at = 0;

        status = find_buffer(option, words->item[i], outputs, &trial->plan, &at,
                             &path, error);
        if (!status && paths[at])
            status = groat__fail(error, GROAT_INVALID,
                                 "%s is given twice for buffer %s", option,
                                 trial->plan.buffers[at].name);
        if (!status)
            status = check_file(option, path, &trial->plan.buffers[at], error);
        if (!status)
            paths[at] = path;
    }
    return status;
}

/* Checks a file of run.def.  A pipe would wait for its writer, and a link would
 * leave the folder. */
static groat_status check_own(const char *folder, const char *path,
                              const groat_buffer *buffer, groat_error *error)
{
    char *inside = realpath(folder, NULL);
    char *real = realpath(path, NULL);
    size_t len = inside ? strlen(inside) : 0;
    struct stat facts;
    bool good = !real || (inside && strncmp(real, inside, len) == 0 &&
                          real[len] == '/' && !stat(real, &facts) &&
                          S_ISREG(facts.st_mode));

    free(inside);
    free(real);
    return good ? check_file("file", path, buffer, error)
                : groat__fail(error, GROAT_INVALID,
                              "file %s is not a regular file in the "
                              "family's folder",
                              path);
}

/* Takes a file of buffer `index` in run.def, unless the command line names
 * another. */
static groat_status take_own(const groat__trial *trial, size_t index,
                             const char *file, char **own, const char **taken,
                             groat_error *error)
{
    groat_error why = GROAT_ERROR_INIT;
    groat__str path = {0};
    groat_status status;

    if (!file || *taken)
        return GROAT_OK;
    groat__str_addf(&path, "%s/%s", trial->folder->path, file);
    *own = groat__str_take(&path);
    if (!*own)
        return groat__fail(error, GROAT_NO_MEMORY, "out of memory");
    *taken = *own;
    status =
        check_own(trial->folder->path, *own, &trial->plan.buffers[index], &why);
    return status ? groat__run_def_fail(&trial->folder->def,
                                        trial->folder->def.buffers[index].line,
                                        status, why.text, error)
                  : GROAT_OK;
}

static groat_status take_all_own(groat__trial *trial, groat_error *error)
{
    groat_status status = GROAT_OK;

    for (size_t i = 0; i < trial->plan.buffer_count && !status; i++) {
        const groat_buffer *buffer = &trial->plan.buffers[i];

        status = take_own(trial, i, buffer->file, &trial->own_path[i],
                          &trial->inputs[i], error);
        if (!status)
            status =
                take_own(trial, i, buffer->expected, &trial->own_expected[i],
                         &trial->expected[i], error);
    }
    return status;
}

/* Outputs with a file of --expect are compared even if run.def says "none", and
 * those of which nothing says what they should be are not. */
static void choose_compared(groat__trial *trial)
{
    bool referred = !trial->folder || trial->folder->has_reference;

    for (size_t i = 0; i < trial->plan.buffer_count; i++) {
        groat_buffer *buffer = &trial->plan.buffers[i];

        if (!trial->expected[i] && !referred) {
            trial->unknown[i] =
                buffer->output && buffer->tolerance != GROAT_TOLERANCE_NONE;
            buffer->tolerance = GROAT_TOLERANCE_NONE;
        }
        if (trial->expected[i] && !trial->own_expected[i] &&
            buffer->tolerance == GROAT_TOLERANCE_NONE)
            buffer->tolerance = GROAT_TOLERANCE_EXACT;
    }
}

static groat_status take_output(const char *word, groat__trial *trial,
                                groat_error *error)
{
    const char *path = NULL;
    size_t at = 0;
    groat_status status =
        find_buffer("--output", word, true, &trial->plan, &at, &path, error);

    if (status)
        return status;
    for (size_t i = 0; i < GROAT_PLAN_BUFFERS; i++)
        if (trial->outputs[i].file &&
            (i == at || strcmp(trial->outputs[i].path, path) == 0))
            return groat__fail(error, GROAT_INVALID,
                               "--output %s: buffer %s already goes to %s",
                               word, trial->plan.buffers[i].name,
                               trial->outputs[i].path);
    return groat__output_open(&trial->outputs[at], path, error);
}

groat_status groat__files_take(const groat__values *options,
                               groat__trial *trial, groat_error *error)
{
    groat_status status = take_list("--input", &options->inputs, false, trial,
                                    trial->inputs, error);

    if (!status)
        status = take_list("--expect", &options->expected, true, trial,
                           trial->expected, error);
    if (!status)
        status = take_all_own(trial, error);
    choose_compared(trial);
    for (size_t i = 0; i < options->outputs.count && !status; i++)
        status = take_output(options->outputs.item[i], trial, error);
    return status;
}

groat_status groat__files_read(const char *option, const char *path,
                               const groat_buffer *buffer, void *data,
                               groat_error *error)
{
    FILE *file = fopen(path, "rbe");
    groat_status status;
    size_t got = 0;
    size_t at = 0;

    if (!file)
        return groat__fail(error, GROAT_IO, "%s %s: %s", option, path,
                           strerror(errno));
    status = look_into(option, path, file, buffer, &at, error);
    errno = 0;
    if (!status && at > 0 && fseek(file, (long)at, SEEK_SET) != 0)
        status = groat__fail(error, GROAT_IO, "%s %s: %s", option, path,
                             strerror(errno));
    if (!status)
        got = fread(data, 1, buffer->bytes, file);
    if (!status && ferror(file))
        status = groat__fail(error, GROAT_IO, "%s %s: %s", option, path,
                             strerror(errno));
    else if (!status && (got != buffer->bytes || fgetc(file) != EOF))
        status =
            groat__fail(error, GROAT_INVALID,
                        "%s %s has %s than the %zu bytes of buffer %s", option,
                        path, got == buffer->bytes ? "more" : "fewer",
                        buffer->bytes, buffer->name);
    (void)fclose(file);
    return status;
}

static groat_status write_one(groat__output *output, const groat_buffer *buffer,
                              const void *bytes, groat_error *error)
{
    const groat__element *element = buffer->element;
    const int64_t length = (int64_t)buffer->bytes;
    groat__str text = {0};
    groat_status status;

    if (!groat__npy_is_named(output->path))
        return groat__output_write(output, bytes, buffer->bytes, error);
    groat__npy_head(element ? element->npy : "|u1",
                    element ? buffer->shape : &length,
                    element ? buffer->rank : 1, &text);
    groat__str_addn(&text, bytes, buffer->bytes);
    status = text.failed
                 ? groat__fail(error, GROAT_NO_MEMORY, "no memory for --output")
                 : groat__output_write(output, text.data, text.len, error);
    groat__str_free(&text);
    return status;
}

groat_status groat__files_write(groat__trial *trial, void *const *data,
                                groat_error *error)
{
    groat_status status = GROAT_OK;

    for (size_t i = 0; i < trial->plan.buffer_count && !status; i++)
        if (trial->outputs[i].file)
            status = write_one(&trial->outputs[i], &trial->plan.buffers[i],
                               data[i], error);
    return status;
}
