/* SPDX-License-Identifier: Apache-2.0
 *
 * remote.c opens the remote of a context and asks it for entries.
 *
 * Invariant: a remote that cannot be used does not fail a get.
 * Locking: the remote locks itself.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "core/core.h"

void groat__context_open_remote(groat_context *context,
                                const groat__remote_options *options)
{
    groat_error inner = GROAT_ERROR_INIT;

    if (options->url == NULL || *options->url == '\0')
        return;
    if (groat__remote_open(options, &context->remote, &inner) != GROAT_OK) {
        context->remote = NULL;
        context->remote_problem = strdup(inner.text);
        groat__log_line(&context->env.log, GROAT_LOG_WARNING,
                        "the remote is not used: %s", inner.text);
    }
    groat_error_clear(&inner);
}

/* Asks the remote for an entry whose identity begins with `wanted`. */
static bool ask(groat_context *context, const char *wanted, groat__arrival *out)
{
    return context->remote != NULL && !groat__seal_is_on(&context->seal) &&
           groat__remote_made(context->remote, wanted, GROAT__REMOTE_BUDGET_MS,
                              out);
}

bool groat__context_made_elsewhere(groat_context *context, const char *wanted,
                                   groat__str *identity)
{
    groat__arrival arrival;

    if (!ask(context, wanted, &arrival))
        return false;
    groat__str_add(identity, arrival.identity);
    groat__arrival_free(&arrival);
    return true;
}

bool groat__context_take_made(groat_context *context, const char *wanted,
                              groat__str *identity)
{
    groat__arrival arrival;

    if (!ask(context, wanted, &arrival))
        return false;
    if (context->store != NULL)
        groat__store_put(context->store, &arrival.key, arrival.identity,
                         arrival.blob.data, arrival.blob.bytes,
                         arrival.blob.log, &arrival.blob.facts);
    groat__str_add(identity, arrival.identity);
    groat__arrival_free(&arrival);
    return true;
}

groat_status groat_remote_stat(groat_context *context, groat_remote_info *info,
                               groat_error *error)
{
    groat_remote_info found = {0};
    groat_status status;

    if (!groat__is_usable(context))
        return groat__fail_unusable("context", context, error);
    status = groat__check_size(error, "info", "groat_remote_info", info,
                               sizeof(*info));
    if (status != GROAT_OK)
        return status;
    if (context->remote != NULL)
        groat__remote_describe(context->remote, &found);
    found.problem = context->remote_problem;
    found.size = info->size;
    memcpy(info, &found, sizeof(found));
    return GROAT_OK;
}
