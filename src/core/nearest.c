/* SPDX-License-Identifier: Apache-2.0
 *
 * nearest.c finds the kernel that is nearest to one that is absent, and tells
 * how they differ, so that a user who waits for a compile, or is refused one,
 * sees which field of the identity is to blame.
 *
 * Invariant: kernels of other families are never near; lines of two identities
 * are compared in order, as key.c writes them.
 * Locking: the context's lock to read the head of its list of kernels, the
 * store's for its entries.
 */
#include "core/nearest.h"

#include <string.h>

static size_t line_of(const char *text)
{
    return strcspn(text, "\n");
}

static const char *next_line(const char *text)
{
    text += line_of(text);
    return *text == '\0' ? text : text + 1;
}

static bool same_line(const char *a, const char *b)
{
    size_t len = line_of(a);

    return line_of(b) == len && memcmp(a, b, len) == 0;
}

/* Counts the lines that differ; SIZE_MAX for identities of two families. */
static size_t distance_of(const char *a, const char *b)
{
    static const char family[] = "\nfamily ";
    const char *mine = strstr(a, family);
    const char *other = strstr(b, family);
    size_t distance = 0;
    size_t name;

    if (mine == NULL || other == NULL)
        return SIZE_MAX;
    name = strcspn(mine + strlen(family), " ") + strlen(family) + 1;
    if (strncmp(mine, other, name) != 0)
        return SIZE_MAX;
    for (; *a != '\0' || *b != '\0'; a = next_line(a), b = next_line(b))
        distance += !same_line(a, b);
    return distance;
}

/* Where the value of a line begins: after "param NAME ", "family NAME ",
 * "target " and so on; in an "arch" line, at the first word that differs. */
static size_t value_at(const char *mine, const char *other)
{
    bool named =
        strncmp(mine, "param ", 6) == 0 || strncmp(mine, "family ", 7) == 0;
    size_t at = strcspn(mine, " \n");
    size_t i;

    if (mine[at] == ' ')
        at++;
    if (named) {
        at += strcspn(mine + at, " \n");
        at += mine[at] == ' ';
    } else if (strncmp(mine, "arch ", 5) == 0) {
        for (i = at; mine[i] == other[i] && mine[i] != '\n' && mine[i]; i++)
            at = mine[i] == ' ' ? i + 1 : at;
    }
    return strncmp(mine, other, at) == 0 ? at : 0;
}

static void add_value(groat__str *out, const char *value, const char *ends)
{
    size_t len = strcspn(value, ends);

    if (len == 0)
        groat__str_add(out, "absent");
    else
        groat__str_addn(out, value, len < 80 ? len : 80);
}

/* Two lines that differ; the field is "" if they have no words in common. */
typedef struct difference {
    groat__str field;
    groat__str wanted;
    groat__str found;
} difference;

static void difference_free(difference *d)
{
    groat__str_free(&d->field);
    groat__str_free(&d->wanted);
    groat__str_free(&d->found);
}

static void tell(const char *wanted, const char *found, difference *d)
{
    bool arch = strncmp(wanted, "arch ", 5) == 0;
    size_t at = value_at(wanted, found);

    *d = (difference){0};
    groat__str_add(&d->field, "");
    if (at > 0)
        groat__str_addn(&d->field, wanted, arch ? 4 : at - 1);
    add_value(&d->wanted, wanted + at, arch ? " \n" : "\n");
    add_value(&d->found, found + at, arch ? " \n" : "\n");
}

static void say_first(groat__str *out, const char *wanted, const char *found)
{
    difference d;

    while (*wanted != '\0' && same_line(wanted, found)) {
        wanted = next_line(wanted);
        found = next_line(found);
    }
    tell(wanted, found, &d);
    groat__str_clear(out);
    if (!d.field.failed && !d.wanted.failed && !d.found.failed)
        groat__str_addf(out, "%s%s%s there, %s here", d.field.data,
                        d.field.len > 0 ? " is " : "", d.found.data,
                        d.wanted.data);
    out->failed |= d.field.failed || d.wanted.failed || d.found.failed;
    difference_free(&d);
}

void groat__nearest_start(groat__nearest *nearest, const char *wanted)
{
    *nearest = (groat__nearest){.wanted = wanted, .distance = SIZE_MAX};
}

void groat__nearest_free(groat__nearest *nearest)
{
    groat__str_free(&nearest->label);
    groat__str_free(&nearest->field);
    groat__str_free(&nearest->identity);
}

bool groat__nearest_failed(const groat__nearest *nearest)
{
    return nearest->no_memory || nearest->label.failed ||
           nearest->field.failed || nearest->identity.failed;
}

static void try_one(groat__nearest *n, const char *identity, const char *lead,
                    const char *name, const char *target)
{
    size_t distance = distance_of(n->wanted, identity);

    if (distance >= n->distance)
        return;
    n->distance = distance;
    groat__str_clear(&n->label);
    groat__str_addf(&n->label, "%s%.300s%s%s", lead, name,
                    *target == '\0' ? "" : " on ", target);
    groat__str_clear(&n->identity);
    groat__str_add(&n->identity, identity);
    if (distance > 0)
        say_first(&n->field, n->wanted, identity);
}

static int try_entry(void *user, const groat_cache_entry *entry)
{
    groat__nearest *n = user;

    try_one(n, entry->identity, "entry ", entry->key, "");
    return n->distance == 0;
}

void groat__nearest_memory(groat_context *context, groat__nearest *nearest)
{
    groat_kernel *kernel;

    (void)pthread_mutex_lock(&context->lock);
    kernel = context->kernels;
    (void)pthread_mutex_unlock(&context->lock);
    /* Kernels are added at the front and stay until groat_close. */
    for (; kernel != NULL; kernel = kernel->next)
        if (groat__resident_is_loaded(kernel))
            try_one(nearest, kernel->identity, "", kernel->spec,
                    kernel->target);
}

/* A store that cannot be read has no kernel near it. */
static void try_entries(groat_context *context, const char *key_prefix,
                        groat__nearest *nearest)
{
    groat_status status =
        groat__store_each(context->store, key_prefix, try_entry, nearest, NULL);

    nearest->no_memory |= status == GROAT_NO_MEMORY;
}

void groat__nearest_store(groat_context *context, groat__nearest *nearest,
                          bool all)
{
    groat__digest key =
        groat__hash128(nearest->wanted, strlen(nearest->wanted));
    char hex[33];

    if (context->store == NULL)
        return;
    groat__hex(hex, key.bytes, sizeof(key.bytes));
    try_entries(context, hex, nearest);
    if (nearest->distance > 0 && all)
        try_entries(context, NULL, nearest);
}

void groat__nearest_each(groat__nearest *nearest, groat_difference_fn *fn,
                         void *user)
{
    const char *wanted = nearest->wanted;
    const char *found = nearest->identity.data;

    if (found == NULL)
        return;
    for (; *wanted != '\0' || *found != '\0';
         wanted = next_line(wanted), found = next_line(found)) {
        difference d;

        if (same_line(wanted, found))
            continue;
        tell(wanted, found, &d);
        if (d.field.failed || d.wanted.failed || d.found.failed)
            nearest->no_memory = true;
        else
            fn(user, d.field.data, d.wanted.data, d.found.data);
        difference_free(&d);
    }
}
