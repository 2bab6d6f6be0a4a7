/* SPDX-License-Identifier: Apache-2.0
 *
 * get.c looks rows up in a store.  A row that is damaged, or has another
 * identity, is dropped and counted.
 */
#include "cache/internal.h"

#include <string.h>

/* Drops a bad entry, counts it, and reports it once: OK or an error. */
static int drop_bad(groat__store *store, const groat__digest *key, int64_t id,
                    bool mistaken)
{
    char hex[33];
    uint64_t dropped = 0;
    int rc = SQLITE_OK;

    groat__hex(hex, key->bytes, sizeof(key->bytes));
    groat__store_faulted(store, mistaken ? "identity" : "damage");
    groat__store_say(
        store, mistaken ? GROAT__NOTE_IDENTITY : GROAT__NOTE_ENTRY,
        "entry %s %s; dropped, the kernel is compiled again; reported once",
        hex,
        mistaken ? "has another identity than the one asked for"
                 : "is damaged");
    if (!store->read_only)
        rc = groat__row_drop(store, id, &dropped);
    groat__store_evicted(store, mistaken ? "identity" : "damage", dropped);
    return rc;
}

/* Looks for a row: ROW, DONE or an error.  Copies a good one to *out unless
 * that is NULL. */
static int peek(groat__store *store, const groat__sought *sought,
                groat__row *row, groat__finding *found, groat__store_blob *out)
{
    sqlite3_stmt *get;
    int failed = SQLITE_OK;
    int rc = groat__row_seek(store, &sought->key, &get);

    *found = GROAT__ROW_NONE;
    if (rc == SQLITE_ROW)
        *found = groat__row_judge(get, &sought->key, sought->identity,
                                  store->ranges, row);
    if (*found == GROAT__ROW_UNREAD)
        failed = SQLITE_NOMEM;
    else if (*found == GROAT__ROW_GOOD && out != NULL)
        failed = groat__row_copy(row, out);
    (void)sqlite3_reset(get);
    return failed == SQLITE_OK ? rc : failed;
}

/* Does the same, and drops, counts and reports a bad row: DONE. */
static int seek(groat__store *store, const groat__sought *sought,
                groat__store_blob *out)
{
    groat__row row = {0};
    groat__finding found;
    int rc = peek(store, sought, &row, &found, out);
    int failed;

    if (found != GROAT__ROW_DAMAGED && found != GROAT__ROW_MISTAKEN)
        return rc;
    failed =
        drop_bad(store, &sought->key, row.id, found == GROAT__ROW_MISTAKEN);
    return failed == SQLITE_OK ? SQLITE_DONE : failed;
}

/* Looks for a good row in a view. */
static bool glance_at(groat__store *store, const groat__sought *sought,
                      groat__store_blob *out)
{
    groat__row row = {0};
    groat__finding found = GROAT__ROW_NONE;

    return groat__glance(store) &&
           peek(store, sought, &row, &found, out) == SQLITE_ROW &&
           found == GROAT__ROW_GOOD;
}

/* Looks a key up while another try may succeed; counts no hit or miss. */
static bool try_lookup(groat__store *store, const groat__sought *sought,
                       groat__store_blob *out)
{
    bool again = true;
    int rc = SQLITE_DONE;

    for (int i = 0; i < GROAT__STORE_TRIES && again && store->db != NULL; i++) {
        rc = seek(store, sought, out);
        again = rc != SQLITE_ROW && rc != SQLITE_DONE;
        if (again)
            again = groat__connection_fault(store, rc, "get");
        else
            store->doubted = false;
    }
    return rc == SQLITE_ROW;
}

/* A get makes no new file where one was removed. */
static bool is_gone(const groat__store *store)
{
    struct stat st;

    return lstat(store->path, &st) != 0;
}

bool groat__store_find(groat__store *store, const groat__digest *key,
                       const char *identity, groat__store_blob *out)
{
    const groat__sought sought = {*key, identity};
    bool hit = glance_at(store, &sought, out);

    if (!hit && store->glancing && !is_gone(store))
        (void)groat__connection_ready(store, NULL);
    if (!hit && !store->glancing)
        hit = try_lookup(store, &sought, out);
    if (hit) {
        store->hits++;
        groat__stamp_use(store, groat__row_id(key));
    } else {
        store->misses++;
    }
    return hit;
}

bool groat__store_get(groat__store *store, const groat__digest *key,
                      const char *identity, groat__store_blob *out)
{
    groat__store_blob blob = {0};
    bool hit;

    groat__store_enter(store);
    hit = groat__store_find(store, key, identity, &blob);
    groat__store_leave(store);
    if (hit)
        *out = blob;
    return hit;
}

/* Locked: returns whether a query gave a row; handles its failure. */
static bool take_answer(groat__store *store, int rc, const char *what)
{
    if (rc != SQLITE_ROW && rc != SQLITE_DONE)
        (void)groat__connection_fault(store, rc, what);
    return rc == SQLITE_ROW;
}

/* Locked: looks for good rows in one transaction, which costs less than one for
 * each.  False: one that is bad or cannot be read must be looked up alone. */
static bool peek_at_all(groat__store *store, const groat__sought *sought,
                        size_t count, bool *held)
{
    groat__row row = {0};
    groat__finding found;
    int rc = groat__connection_run(store, GROAT__SQL_BEGIN_READING);
    bool clear = rc == SQLITE_OK;

    for (size_t i = 0; i < count && clear; i++) {
        rc = peek(store, &sought[i], &row, &found, NULL);
        held[i] = rc == SQLITE_ROW && found == GROAT__ROW_GOOD;
        clear = held[i] || rc == SQLITE_DONE;
    }
    rc = groat__connection_run(store, GROAT__SQL_COMMIT);
    groat__connection_roll_back(store);
    clear = clear && rc == SQLITE_OK;
    store->doubted = store->doubted && !clear;
    return clear;
}

void groat__store_held(groat__store *store, const groat__sought *sought,
                       size_t count, bool *held)
{
    bool ready;

    groat__store_enter(store);
    ready = groat__connection_ready(store, NULL) == GROAT_OK;
    memset(held, 0, count * sizeof(*held));
    if (ready && !peek_at_all(store, sought, count, held))
        for (size_t i = 0; i < count; i++)
            held[i] = held[i] || try_lookup(store, &sought[i], NULL);
    groat__store_leave(store);
}

/* Locked: finds the candidate after `skip` others. */
static bool find_newest(groat__store *store, const char *begin, unsigned skip,
                        groat__str *out)
{
    groat__str_clear(out);
    return groat__connection_ready(store, NULL) == GROAT_OK &&
           take_answer(store, groat__row_newest(store->db, begin, skip, out),
                       "looking for a maker");
}

bool groat__store_newest(groat__store *store, const char *begin,
                         groat__str *out)
{
    groat__digest before = {{0}};
    unsigned skip = 0;
    bool good = false;

    groat__store_enter(store);
    for (int i = 0; i < GROAT__NEWEST_TRIES && !good; i++) {
        groat__digest key;

        if (!find_newest(store, begin, skip, out))
            break;
        key = groat__hash128(out->data, out->len);
        good = try_lookup(store, &(groat__sought){key, out->data}, NULL);
        /* Skip an entry that could not be dropped: it would be found again. */
        if (store->read_only ||
            memcmp(key.bytes, before.bytes, sizeof(key.bytes)) == 0)
            skip++;
        before = key;
    }
    groat__store_leave(store);
    if (!good)
        groat__str_clear(out);
    return good;
}

bool groat__store_recent(groat__store *store, const char *one,
                         const char *other, groat__str *out)
{
    bool found;

    groat__store_enter(store);
    found = (groat__glance(store) &&
             groat__row_recent(store->db, one, other, out) == SQLITE_ROW) ||
            (groat__connection_ready(store, NULL) == GROAT_OK &&
             take_answer(store, groat__row_recent(store->db, one, other, out),
                         "looking for a compiler"));
    groat__store_leave(store);
    return found;
}

double groat__store_longest_ms(groat__store *store, const char *text)
{
    double ms = -1;

    groat__store_enter(store);
    if (groat__connection_ready(store, NULL) == GROAT_OK && !store->read_only)
        (void)take_answer(store, groat__row_longest(store->db, text, &ms),
                          "looking for the time of a compile");
    groat__store_leave(store);
    return ms;
}

bool groat__store_has(groat__store *store, const groat__digest *key,
                      const char *identity)
{
    bool found;

    groat__store_enter(store);
    found = (groat__glance(store) &&
             groat__row_has(store, key, identity) == SQLITE_ROW) ||
            (groat__connection_ready(store, NULL) == GROAT_OK &&
             take_answer(store, groat__row_has(store, key, identity),
                         "looking for an entry"));
    groat__store_leave(store);
    return found;
}
