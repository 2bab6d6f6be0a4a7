/* SPDX-License-Identifier: Apache-2.0
 *
 * doctor.c reports what this machine can be used for: it asks every backend,
 * the store and the remote, and splits their answers into lines.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "core/core.h"

/* Splits "subject\tusable\ttext\n" lines and passes them to fn. */
static void report(groat__str *lines, groat_doctor_fn *fn, void *user)
{
    char *save = NULL;

    if (lines->failed || lines->data == NULL)
        return;
    for (char *line = strtok_r(lines->data, "\n", &save); line != NULL;
         line = strtok_r(NULL, "\n", &save)) {
        char *usable = strchr(line, '\t');
        char *text = usable == NULL ? NULL : strchr(usable + 1, '\t');

        if (text == NULL)
            continue;
        *usable = '\0';
        fn(user, line, usable[1] == '1', text + 1);
    }
}

/* Writes the path on one line, even if it has line breaks. */
static void tell_store(const groat_context *context, groat_doctor_fn *fn,
                       void *user)
{
    groat_cache_stat stat = {.size = sizeof(stat)};
    groat_error error = GROAT_ERROR_INIT;
    groat__str line = {0};
    bool good = groat__store_stat(context->store, &stat, &error) == GROAT_OK;

    groat__str_add(&line, groat__store_path(context->store));
    if (!good)
        groat__str_addf(&line, ": %s", error.text);
    if (!line.failed) {
        groat__one_line(line.data);
        fn(user, "store", good, line.data);
    }
    groat__str_free(&line);
    groat_error_clear(&error);
}

static void tell_remote(const groat_context *context, groat_doctor_fn *fn,
                        void *user)
{
    groat__str text = {0};
    bool answers;

    if (context->remote == NULL) {
        fn(user, "remote", 0,
           context->remote_problem != NULL ? context->remote_problem
                                           : "none; GROAT_REMOTE names one");
        return;
    }
    answers = groat__remote_answers(context->remote, &text);
    if (!text.failed)
        fn(user, "remote", answers, text.data);
    groat__str_clear(&text);
    if (groat__remote_leases(context->remote, &answers, &text) && !text.failed)
        fn(user, "leases", answers, text.data);
    groat__str_free(&text);
}

void groat_doctor(groat_context *context, groat_doctor_fn *fn, void *user)
{
    groat__callback_scope self;

    if (!groat__is_usable(context))
        return;
    groat__callback_begin(&context->callbacks, &self);
    for (int i = 0; i < GROAT__BACKENDS; i++) {
        groat__backend_id id = (groat__backend_id)i;
        const groat__backend *backend = groat__backend_get(id);
        groat__str lines = {0};
        void *state = NULL;

        (void)groat__machine_compiler(context, id, &state, NULL);
        groat__part_report(&backend->compiler->part, state, &context->env,
                           &lines);
        state = NULL;
        (void)groat__machine_device(context, id, &state, NULL);
        groat__part_report(&backend->device->part, state, &context->env,
                           &lines);
        report(&lines, fn, user);
        groat__str_free(&lines);
    }
    if (context->store != NULL)
        tell_store(context, fn, user);
    else
        fn(user, "store", 0,
           context->store_problem != NULL ? context->store_problem : "none");
    tell_remote(context, fn, user);
    if (context->ranges.push != NULL)
        fn(user, "ranges", 1, context->ranges.kind);
    else
        fn(user, "ranges", 0,
           "no profiler receives them; set GROAT_RANGES=nvtx or the program's "
           "callbacks");
    fn(user, "default target", 1, groat_default_target(context));
    groat__callback_end(&context->callbacks, &self);
}
