/* SPDX-License-Identifier: Apache-2.0
 *
 * cmd_fleet.c - groat fleet: maintains a remote.
 *
 * Owns the table of subcommands and their printing; the library does the work.
 * Invariant: a bad object is reported, with exit code 1, and never put into a
 * store.
 */
#include "cli/fleet/fleet.h"
#include "cli/store/store.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Progress and results of one command. */
typedef struct course {
    groat__cli *cli;
    groat__table table;
    uint64_t seen, done, there, absent, bad;
    uint64_t total;       /* 0: unknown */
    bool complete;        /* an absent object is a failure, too */
    groat__names refused; /* of a check: objects to remove */
    bool failed;          /* a list is not whole */
    bool keeps;           /* a pull */
    groat__names pushed;  /* of a push: objects that were there to send */
    groat__names kept;    /* of a pull: keys of what the store had then */
    uint64_t still;       /* and how many of these it has in the end */
} course;

/* Counts and reports an object that was sent, fetched or checked. */
static int on_object(void *user, const groat_remote_object *object)
{
    course *c = user;
    const char *slash = strrchr(object->name, '/');
    groat__json *json = &c->cli->json;
    bool good = !object->absent && !object->problem;

    c->seen++;
    c->done += object->done != 0;
    c->there += good && !object->done;
    c->absent += object->absent != 0;
    c->bad += object->problem && !object->absent;
    c->failed = (object->refused && c->cli->values.remove &&
                 !groat__names_add(&c->refused, object->name)) ||
                (c->keeps && good &&
                 !groat__names_add(&c->kept, *object->key ? object->key
                                             : slash      ? slash + 1
                                                          : object->name));
    if (c->failed)
        return 1;
    groat__progress_step(&c->cli->progress, c->seen, c->total, "%s",
                         object->name);
    groat__json_object(json, NULL);
    groat__json_string(json, "name", object->name);
    groat__json_string(json, "problem", object->problem);
    groat__json_bool(json, "done", object->done != 0);
    groat__json_string(json, "spec", object->spec);
    groat__json_string(json, "signer", *object->signer ? object->signer : NULL);
    groat__json_end(json);
    if (object->problem && !c->cli->values.json) {
        groat__table_add(&c->table, "%s", object->name);
        groat__table_add(&c->table, "%s", object->problem);
    }
    return 0;
}

/* Adds up the entries that a pull has kept and that are still there. */
static int on_still(void *user, const groat_cache_entry *entry)
{
    course *c = user;

    c->still += groat__names_have(&c->kept, entry->key);
    return 0;
}

/* Fails a pull of more than the store's bound allows: what was stored first is
 * evicted for what comes later. */
static int check_kept(course *c, int code)
{
    groat_error error = GROAT_ERROR_INIT;
    uint64_t lost;

    groat__names_sort(&c->kept);
    if (groat_cache_each(c->cli->context, NULL, on_still, c, &error))
        return groat__cli_fail(c->cli, &error);
    lost = c->kept.count - c->still;
    groat__json_uint(&c->cli->json, "lost", lost);
    if (!lost)
        return code;
    return groat__cli_refuse(c->cli, GROAT_IO,
                             "the store does not have %" PRIu64
                             " of these kernels any more: its bound is too "
                             "small for all; GROAT_CACHE_MAX_BYTES sets it",
                             lost);
}

/* Prints "2 of 40 objects sent, 0 not there, ..."; returns an exit code. */
static int finish(course *c, const char *what, groat_status status,
                  groat_error *error)
{
    groat__cli *cli = c->cli;

    groat__progress_clear(&cli->progress);
    groat__json_end(&cli->json);
    groat__json_uint(&cli->json, "objects", c->seen);
    groat__json_uint(&cli->json, what, c->done);
    groat__json_uint(&cli->json, "there", c->there);
    groat__json_uint(&cli->json, "absent", c->absent);
    groat__json_uint(&cli->json, "bad", c->bad);
    groat__table_print(&c->table);
    if (!cli->values.json)
        (void)printf("%" PRIu64 " of %" PRIu64 " objects %s, %" PRIu64
                     " not there, %" PRIu64 " not good\n",
                     c->done, c->seen, what, c->absent, c->bad);
    if (status)
        return groat__cli_fail(cli, error);
    return c->bad || (c->complete && c->absent) ? GROAT__EXIT_FAILED
                                                : GROAT__EXIT_DONE;
}

/* Whether a command goes on after groat__names_read() returned code: without
 * the kernels whose compiler is not here, if there are others. */
static bool goes_on(int code, const groat__names *names)
{
    return !code || (code == GROAT__EXIT_NO_DEVICE && names->count);
}

static int first_failure(int before, int code)
{
    return before ? before : code;
}

/* Also collects the names, to find those of the manifests that are not there.
 */
static int on_pushed(void *user, const groat_remote_object *object)
{
    course *c = user;

    c->failed = !groat__names_add(&c->pushed, object->name);
    return c->failed ? 1 : on_object(c, object);
}

static void tell_absent(course *c, const groat__names *wanted)
{
    groat__names_sort(&c->pushed);
    for (size_t i = 0; i < wanted->count && !c->failed; i++)
        if (!groat__names_have(&c->pushed, wanted->at[i]))
            (void)on_object(c, &(groat_remote_object){
                                   .name = wanted->at[i],
                                   .absent = true,
                                   .problem = "there is no such kernel here"});
}

static int push(groat__cli *cli)
{
    static const char *const none[] = {NULL};
    course c = {.cli = cli, .table = {.columns = 2}, .complete = true};
    groat_error error = GROAT_ERROR_INIT;
    groat_remote_choice choice = {.size = sizeof(choice),
                                  .bundle = cli->values.from,
                                  .targets = cli->values.targets.item,
                                  .target_count = cli->values.targets.count};
    groat__names wanted = {0};
    groat_status status;
    int code = groat__names_read(cli, false, &wanted);

    groat__names_sort(&wanted);
    if (goes_on(code, &wanted)) {
        if (cli->word_count > 1)
            choice.names = wanted.count ? (const char *const *)wanted.at : none;
        choice.name_count = wanted.count;
        groat__json_array(&cli->json, "list");
        status =
            groat_remote_push(cli->context, &choice, on_pushed, &c, &error);
        if (!status)
            tell_absent(&c, &wanted);
        code = first_failure(code, finish(&c, "sent", status, &error));
        if (c.failed)
            code = groat__cli_refuse(cli, GROAT_NO_MEMORY, "out of memory");
        if (c.there && !cli->values.json)
            (void)printf("%" PRIu64 " were there, and are not read; groat "
                         "fleet check verifies them\n",
                         c.there);
    }
    groat__names_free(&c.pushed);
    groat__names_free(&wanted);
    return code;
}

/* ---- lists ------------------------------------------------------------- */

typedef struct listing {
    groat__cli *cli;
    groat__names *names;
    const groat__names *roots; /* of gc: the objects to keep; else NULL */
    groat__table table;
    int64_t before_s; /* leave out objects written later */
    uint64_t bytes;
    bool print;
    bool failed;
} listing;

/* Returns whether the name is in the target's folder, "v1/cuda-sm_90a/". */
static bool is_of(const char *name, const char *target)
{
    const char *at = strchr(name, '/');

    if (!at)
        return false;
    for (at++; *target && *at; at++, target++)
        if (*at != *target && !(*at == '-' && *target == ':'))
            return false;
    return !*target && *at == '/';
}

static bool is_wanted(const listing *l, const groat_remote_object *object)
{
    const groat__list *targets = &l->cli->values.targets;
    bool of = !targets->count;

    for (size_t i = 0; i < targets->count; i++)
        of = of || is_of(object->name, targets->item[i]);
    /* gc keeps an object of unknown age. */
    if (l->roots && object->modified_s <= 0)
        return false;
    return of && strncmp(object->name, "v1/", 3) == 0 &&
           object->modified_s <= l->before_s &&
           !(l->roots && groat__names_have(l->roots, object->name));
}

static int on_listed(void *user, const groat_remote_object *object)
{
    listing *l = user;
    groat__json *json = &l->cli->json;
    struct tm t = {0};
    time_t seconds = (time_t)object->modified_s;
    char date[32] = "-";

    if (!is_wanted(l, object))
        return 0;
    /* What is no object, or not yet, is for gc alone. */
    if (!object->problem || l->roots) {
        l->bytes += object->bytes;
        if (!groat__names_add(l->names, object->name))
            l->failed = true;
    }
    if (!l->print)
        return l->failed;
    if (gmtime_r(&seconds, &t))
        (void)strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%SZ", &t);
    groat__json_object(json, NULL);
    groat__json_string(json, "name", object->name);
    groat__json_uint(json, "bytes", object->bytes);
    groat__json_int(json, "modified_s", object->modified_s);
    groat__json_string(json, "problem", object->problem);
    groat__json_end(json);
    if (!l->cli->values.json) {
        groat__table_add(&l->table, "%" PRIu64, object->bytes);
        groat__table_add(&l->table, "%s", date);
        groat__table_add(&l->table, "%s%s%s", object->name,
                         object->problem ? ": " : "",
                         object->problem ? object->problem : "");
    }
    return l->failed;
}

static int list_objects(listing *l)
{
    groat__cli *cli = l->cli;
    groat_error error = GROAT_ERROR_INIT;

    if (groat_remote_list(cli->context, on_listed, l, &error))
        return groat__cli_fail(cli, &error);
    return l->failed ? groat__cli_refuse(cli, GROAT_NO_MEMORY, "out of memory")
                     : GROAT__EXIT_DONE;
}

static int list(groat__cli *cli)
{
    groat__names names = {0};
    listing l = {.cli = cli,
                 .names = &names,
                 .before_s = INT64_MAX,
                 .print = true,
                 .table = {.columns = 3, .right = 1}};
    int code;

    groat__json_array(&cli->json, "list");
    code = list_objects(&l);
    groat__json_end(&cli->json);
    groat__json_uint(&cli->json, "objects", names.count);
    groat__json_uint(&cli->json, "bytes", l.bytes);
    groat__table_print(&l.table);
    if (!cli->values.json && !code)
        (void)printf("%zu objects of %" PRIu64 " bytes\n", names.count,
                     l.bytes);
    groat__names_free(&names);
    return code;
}

/* ---- objects by name --------------------------------------------------- */

/* Adds the names in the manifests or, without one, of all objects. */
static int find_names(groat__cli *cli, bool both, groat__names *names)
{
    listing l = {.cli = cli, .names = names, .before_s = INT64_MAX};

    return cli->word_count > 1 ? groat__names_read(cli, both, names)
                               : list_objects(&l);
}

/* Removes objects and says how many; returns code, or that of a failure. */
static int remove_names(groat__cli *cli, const groat__names *names, int code)
{
    groat_error error = GROAT_ERROR_INIT;
    uint64_t removed = 0;

    if (names->count && groat_remote_remove(cli->context, names->at,
                                            names->count, &removed, &error))
        code = groat__cli_fail(cli, &error);
    groat__json_uint(&cli->json, "removed", removed);
    if (!cli->values.json)
        (void)printf("%" PRIu64 " %s removed\n", removed,
                     removed == 1 ? "object" : "objects");
    return code;
}

static int fetch(groat__cli *cli, unsigned flags, const char *what)
{
    course c = {.cli = cli,
                .table = {.columns = 2},
                .keeps = (flags & GROAT_REMOTE_KEEP) != 0};
    groat_error error = GROAT_ERROR_INIT;
    groat__names names = {0};
    groat_status status;
    int code = find_names(cli, !flags, &names);

    groat__names_sort(&names); /* a manifest may name a kernel often */
    if (goes_on(code, &names)) {
        c.total = names.count;
        groat__json_array(&cli->json, "list");
        status = groat_remote_fetch(cli->context, names.at, names.count, flags,
                                    on_object, &c, &error);
        c.complete = !flags || cli->word_count > 1;
        c.done = c.seen - c.absent - c.bad;
        c.there = c.keeps ? c.there : 0;
        code = first_failure(code, finish(&c, what, status, &error));
    }
    if (c.keeps && !c.failed && names.count)
        code = check_kept(&c, code);
    if (c.failed)
        code = groat__cli_refuse(cli, GROAT_NO_MEMORY, "out of memory");
    else if (cli->values.remove)
        code = remove_names(cli, &c.refused, code);
    groat__names_free(&c.kept);
    groat__names_free(&c.refused);
    groat__names_free(&names);
    return code;
}

static int pull(groat__cli *cli)
{
    return fetch(cli, GROAT_REMOTE_KEEP, "kept");
}

/* Without a trusted key every object would be removed. */
static int check_trust(groat__cli *cli)
{
    groat_remote_info info = {.size = sizeof(info)};

    if (!cli->values.remove ||
        groat_remote_stat(cli->context, &info, NULL) != GROAT_OK || !info.url ||
        info.trusted_keys)
        return GROAT__EXIT_DONE;
    return groat__cli_refuse(cli, GROAT_INVALID,
                             "--remove: no key is trusted, so no object would "
                             "stay; name the file of public keys with --trust "
                             "or GROAT_TRUST");
}

static int check(groat__cli *cli)
{
    int code = check_trust(cli);

    if (code)
        return code;
    return fetch(cli, 0, "verified");
}

typedef struct using
{
    groat__cli *cli;
    groat__names *names;
    int64_t since_s;
}
using;

/* Keeps the objects of an entry that this host has used since then; one that
 * was only pulled has no use. */
static int on_used(void *user, const groat_cache_entry *entry)
{
    const using *u = user;
    char name[96];

    if (entry->used_s < u->since_s || entry->uses == 0 || !*entry->target)
        return 0;
    /* The entry's own key; add_spec adds those of today's compiler. */
    (void)snprintf(name, sizeof(name), "v1/%.40s/%.2s/%s", entry->target,
                   entry->key, entry->key);
    for (char *at = name; *at; at++)
        if (*at == ':')
            *at = '-';
    if (!groat__names_add(u->names, name))
        return 1;
    return *entry->spec &&
           groat__names_add_spec(u->cli, u->names, entry->spec, entry->target,
                                 true, NULL) == GROAT_NO_MEMORY;
}

static int gc(groat__cli *cli)
{
    groat_error error = GROAT_ERROR_INIT;
    groat__names roots = {0};
    groat__names names = {0};
    const groat__names none = {0};
    listing l = {.cli = cli, .names = &names, .roots = &roots};
    int code;

    if (!cli->values.older_than)
        return groat__cli_refuse(cli, GROAT_INVALID,
                                 "fleet gc needs --older-than DAYS");
    l.before_s =
        (int64_t)time(NULL) - (int64_t)cli->values.older_than * 24 * 3600;
    code = groat__cache_needed(cli);
    if (!code && cli->word_count > 1)
        code = groat__names_read(cli, true, &roots);
    if (!code && groat_cache_each(cli->context, NULL, on_used,
                                  &(using){cli, &roots, l.before_s}, &error))
        code = groat__cli_fail(cli, &error);
    if (!code)
        code = groat__cache_sound(cli, "nothing is removed");
    if (!code)
        code = groat__cache_whole(
            cli, l.before_s,
            "nothing is removed until it has been in use for as many days as "
            "--older-than says, or that file is removed");
    groat__names_sort(&roots);
    if (!code)
        code = list_objects(&l);
    code = remove_names(cli, code ? &none : &names, code);
    groat__names_free(&roots);
    groat__names_free(&names);
    return code;
}

static const groat__action actions[] = {
    {"push", "MANIFEST...", 0, GROAT__WORDS_ANY, true,
     " target remote-key from ", push},
    {"pull", "MANIFEST...", 0, GROAT__WORDS_ANY, true, " target trust ", pull},
    {"ls", NULL, 0, 0, false, " target ", list},
    {"check", "MANIFEST...", 0, GROAT__WORDS_ANY, false,
     " target trust remove ", check},
    {"gc", "MANIFEST...", 0, GROAT__WORDS_ANY, false, " target older-than ",
     gc},
    {NULL, NULL, 0, 0, false, NULL, NULL},
};

int groat__cmd_fleet(groat__cli *cli)
{
    int code = GROAT__EXIT_DONE;
    bool storeless;
    const groat__action *act = groat__action_find(
        cli, actions, " json cache-dir share-group family-path remote help ",
        &code);

    if (!act)
        return code;
    code = groat__cli_check_targets(cli, "--target", &cli->values.targets);
    storeless = act->run == list ||
                (act->run == push && cli->values.from && cli->word_count == 1);
    /* Without a store the library would not look at the variable. */
    if (storeless && !cli->values.remote)
        cli->values.remote = getenv("GROAT_REMOTE");
    if (!code && act->run != pull && !storeless)
        code = groat__cache_there(cli);
    if (!code)
        code = groat__cli_open(cli, storeless ? GROAT_OPEN_NO_DISK : 0);
    return code ? code : act->run(cli);
}
