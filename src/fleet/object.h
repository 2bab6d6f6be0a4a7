/* SPDX-License-Identifier: Apache-2.0
 *
 * object.h - one exchange with a place that keeps objects.
 */
#ifndef GROAT_FLEET_OBJECT_H
#define GROAT_FLEET_OBJECT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

enum {
    GROAT__OBJECT_NAME = 96,
    GROAT__OBJECT_KEY = 1024, /* of S3, prefix included */
    GROAT__OBJECT_WHY = 192
};

typedef enum groat__verb {
    GROAT__OBJECT_GET,
    GROAT__OBJECT_HEAD,
    GROAT__OBJECT_PUT,  /* if it is not there yet */
    GROAT__OBJECT_POST, /* of a registry: asks where to send something */
    GROAT__OBJECT_SEND, /* of a registry: a PUT, whatever is there     */
    GROAT__OBJECT_DELETE
} groat__verb;

typedef enum groat__outcome {
    GROAT__OBJECT_UNTRIED, /* one before it failed in a way that all would */
    GROAT__OBJECT_DONE,
    GROAT__OBJECT_ABSENT, /* there is no such object         */
    GROAT__OBJECT_THERE,  /* a put found one                 */
    GROAT__OBJECT_LATE,   /* nothing, or not all, in time    */
    GROAT__OBJECT_FAILED  /* anything else                   */
} groat__outcome;

/* Zeros but for verb, name and, of a put, body; free it with
 * groat__exchange_free(). */
typedef struct groat__exchange {
    groat__verb verb;
    char name[GROAT__OBJECT_NAME]; /* below the place; letters, digits, -_./ */
    const void *body;              /* borrowed */
    size_t bytes;
    const char *url;  /* NULL: that of the place and the name; borrowed     */
    const char *type; /* of the body, or of what is accepted; NULL: bytes   */
    size_t most;      /* bytes of an answer; 0: those of an entry           */
    groat__outcome outcome;
    bool answered;               /* it began to answer */
    groat__str answer;           /* of a get that is DONE            */
    bool keeps_lines;            /* the next two, of a registry      */
    char *location;              /* of a post: where to send it      */
    char *challenge;             /* of a refusal: how to log in      */
    char why[GROAT__OBJECT_WHY]; /* LATE, FAILED: the reason, one line */
} groat__exchange;

void groat__exchange_free(groat__exchange *exchange);

/* Exchanges that are run together. */
typedef struct groat__batch {
    groat__exchange *list;
    size_t count;
    unsigned budget_ms; /* of each */
    /* NULL, or called for each as soon as it has an outcome, while others are
     * under way; not for those that stay UNTRIED. */
    void (*done)(void *user, groat__exchange *exchange);
    void *user;
    const atomic_bool *stop; /* NULL, or once true no more are begun */
} groat__batch;

/* None can be begun: fails the first; count is not 0. */
void groat__batch_fail(const groat__batch *batch, const char *why);

/* What is told of a listed object. */
typedef struct groat__listed {
    const char *name; /* below the place */
    uint64_t bytes;
    int64_t modified_s; /* seconds since 1970 */
} groat__listed;

/* Return non-zero to stop. */
typedef int groat__listed_fn(void *user, const groat__listed *object);

#endif
