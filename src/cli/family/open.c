/* SPDX-License-Identifier: Apache-2.0
 *
 * open.c reads a family's folder: its run.def and args.h, and whether they name
 * the same things.
 */
#include "cli/family/folder.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fs.h"
#include "cli/family/like.h"

enum { TEXT_BYTES_MAX = 1 << 20 }; /* of run.def, args.h */

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
                   : groat__run_def_refuse(
                         &f->def, line, error, "field %.64s of args.h is %s",
                         name, map ? "no tensor map" : "a tensor map");
    }
    return groat__run_def_refuse(&f->def, line, error,
                                 "args.h has no field %.64s", name);
}

static groat_status check_name(const groat__folder *f, const char *name,
                               const char *what, groat_error *error)
{
    int line = groat__run_def_line(&f->def, name);

    return line == 0
               ? GROAT_OK
               : groat__run_def_refuse(&f->def, line, error,
                                       "%.64s is a %s of params.def already",
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
            groat__run_def_buffer(def, map->buffer) == def->buffer_count)
            status =
                groat__run_def_refuse(&f->def, map->line, error,
                                      "there is no buffer %.64s", map->buffer);
    }
    return status;
}

/* Makes a driver of run.def and args.h. */
static groat_status make_driver(groat__folder *f, groat_error *error)
{
    char *args = NULL;
    groat_status status = read_text(f, "args.h", &args, error);

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
    if (status == GROAT_OK)
        status = check_binds(f, error);
    if (status == GROAT_OK)
        groat__folder_make_driver(f);
    return status;
}

/* Takes the library's driver that run.def names. */
static groat_status take_driver(const groat__folder *f,
                                const groat_context *context,
                                const groat_driver **out, groat_error *error)
{
    groat_error why = GROAT_ERROR_INIT;
    groat_status status =
        groat__driver_like(context, f->family, f->def.driver, out, &why);

    if (status != GROAT_OK)
        status = groat__run_def_fail(&f->def, f->def.driver_line, status,
                                     why.text, error);
    groat_error_clear(&why);
    return status;
}

/* Reads a folder's run.def, if it has one, and what belongs to it. */
static groat_status open_folder(groat__folder *f, const groat_context *context,
                                const groat_driver **driver, groat_error *error)
{
    groat_status status;

    groat__str_addf(&f->reference.source, "%s/reference.c", f->path);
    if (f->reference.source.failed)
        return groat__fail(error, GROAT_NO_MEMORY, "no memory for a path");
    status = read_text(f, "run.def", &f->text, error);
    if (status != GROAT_OK || f->text == NULL)
        return status;
    /* A link that leads nowhere is an error, not none. */
    f->has_reference = faccessat(AT_FDCWD, f->reference.source.data, F_OK,
                                 AT_SYMLINK_NOFOLLOW) == 0;
    status = groat__run_def_read(groat_family_name(f->family), f->text, &f->def,
                                 error);
    if (status != GROAT_OK)
        return status;
    if (f->def.driver != NULL)
        return take_driver(f, context, driver, error);
    *driver = &f->driver;
    return make_driver(f, error);
}

groat_status groat__folder_driver(const groat_context *context,
                                  const groat_family *family, unsigned seconds,
                                  const groat_driver **driver,
                                  groat__folder **folder, groat_error *error)
{
    groat__folder *f;
    groat_status status;

    *folder = NULL;
    *driver = groat_driver_find(groat_family_name(family));
    if (*driver != NULL || groat_family_problem(family) != NULL ||
        groat_family_folder(family) == NULL)
        return GROAT_OK;
    f = calloc(1, sizeof(*f));
    if (f == NULL)
        return groat__fail(error, GROAT_NO_MEMORY, "no memory for a family");
    f->family = family;
    f->path = groat_family_folder(family);
    f->reference.seconds = seconds;
    status = open_folder(f, context, driver, error);
    if (status != GROAT_OK)
        *driver = NULL;
    if (*driver == &f->driver)
        *folder = f;
    else
        groat__folder_close(f);
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
