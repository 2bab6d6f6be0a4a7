/* SPDX-License-Identifier: Apache-2.0
 *
 * object.h - an exchange with a place that keeps objects.
 */
#ifndef GROAT_FLEET_OBJECT_H
#define GROAT_FLEET_OBJECT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

/* A file of a folder has this and a dot behind its name while it is written,
 * then GROAT__OBJECT_RANDOM characters that groat__fs_beside() chose. */
#define GROAT__OBJECT_PART ".part"

enum {
    GROAT__OBJECT_RANDOM = 6,
    GROAT__OBJECT_NAME = 96,
    GROAT__OBJECT_KEY = 1024, /* bytes of an S3 key, with its prefix */
    GROAT__OBJECT_WHY = 192
};

typedef enum groat__verb {
    GROAT__OBJECT_GET,
    GROAT__OBJECT_HEAD,
    GROAT__OBJECT_PUT,  /* only if it is absent */
    GROAT__OBJECT_POST, /* registry: asks for an upload URL */
    GROAT__OBJECT_SEND, /* registry: an unconditional PUT */
    GROAT__OBJECT_DELETE
} groat__verb;

typedef enum groat__outcome {
    GROAT__OBJECT_UNTRIED, /* not begun after another one failed */
    GROAT__OBJECT_DONE,
    GROAT__OBJECT_ABSENT, /* there is no such object           */
    GROAT__OBJECT_THERE,  /* a put found it, and did not write */
    GROAT__OBJECT_LATE,   /* timed out                         */
    GROAT__OBJECT_BROKEN, /* what came is no entry             */
    GROAT__OBJECT_FAILED  /* anything else                     */
} groat__outcome;

/* Zeros except for verb, name and, for a put, body; free it with
 * groat__exchange_free(). */
typedef struct groat__exchange {
    groat__verb verb;
    char name[GROAT__OBJECT_NAME]; /* below the place; letters, digits, -_./ */
    const void *body;              /* borrowed */
    size_t bytes;
    const char *url;  /* NULL: the place's, with the name; borrowed */
    const char *type; /* Content-Type or Accept; NULL: the default */
    size_t most;      /* limit of the answer; 0: an entry's limit */
    groat__outcome outcome;
    bool answered;               /* the place began to answer          */
    groat__str answer;           /* of a get that is DONE              */
    bool keeps_lines;            /* keep the next two, for a registry  */
    char *location;              /* Location header                    */
    char *challenge;             /* WWW-Authenticate header            */
    char why[GROAT__OBJECT_WHY]; /* but for DONE: the reason, one line, or "" */
} groat__exchange;

void groat__exchange_free(groat__exchange *exchange);

/* Exchanges that are run together. */
typedef struct groat__batch {
    groat__exchange *list;
    size_t count;
    unsigned budget_ms; /* of each */
    /* NULL, or called for each exchange as soon as it has an outcome, while
     * others are in progress; not for those that stay UNTRIED. */
    void (*done)(void *user, groat__exchange *exchange);
    /* NULL, or called by groat__remote_run_apart() when it told of all
     * exchanges that are done, and waits for others. */
    void (*idle)(void *user);
    void *user;
    const atomic_bool *stop; /* NULL; if true, no more are begun */
} groat__batch;

/* No exchange can be begun: fails the first one; count must not be 0. */
void groat__batch_fail(const groat__batch *batch, const char *why);

/* An object in a listing. */
typedef struct groat__listed {
    const char *name; /* below the place */
    uint64_t bytes;
    int64_t modified_s; /* seconds since 1970 */
} groat__listed;

/* Return non-zero to stop. */
typedef int groat__listed_fn(void *user, const groat__listed *object);

#endif
