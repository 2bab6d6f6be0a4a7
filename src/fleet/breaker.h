/* SPDX-License-Identifier: Apache-2.0
 *
 * breaker.h - whether a service that failed is asked again.
 */
#ifndef GROAT_FLEET_BREAKER_H
#define GROAT_FLEET_BREAKER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum {
    GROAT__BREAKER_ERRORS = 8, /* in a row that open it                    */
    GROAT__BREAKER_FIRST_MS = 1000, /* the usual first wait                */
    GROAT__BREAKER_LAST_MS = 60000,
    GROAT__BREAKER_TRY_MS = 2000 /* more than a try takes */
};

/* Of a service; any thread.  What changes is under its lock. */
typedef struct groat__breaker {
    struct groat__breaker *next;
    pid_t pid; /* of the process that asks the service */
    pthread_mutex_t lock;
    bool open;
    unsigned errors; /* in a row, while it is closed       */
    unsigned failed; /* times in a row that it was opened  */
    double first_ms; /* waited before the first try        */
    double retry_ms; /* when it may be tried again         */
    uint64_t opens;
    uint64_t random;
    char name[]; /* of the service */
} groat__breaker;

/* The breaker of a service, closed at first: the same for every context of the
 * process, so that one finds out for all, and another one in a child of fork().
 * It is never freed.  NULL: no memory. */
groat__breaker *groat__breaker_of(const char *name, double first_ms);

/* Whether the service is asked: not while the breaker is open. */
bool groat__breaker_lets(groat__breaker *breaker);
/* The service gave no answer: the breaker opens.  True: it was closed.  Others
 * who met the same meanwhile change nothing. */
bool groat__breaker_trip(groat__breaker *breaker);
/* The service, tried again, gave no answer: the breaker stays open for twice as
 * long, up to GROAT__BREAKER_LAST_MS, give or take a half. */
void groat__breaker_extend(groat__breaker *breaker);
/* The service gave a wrong answer: the breaker opens after some in a row.  True
 * as of groat__breaker_trip(). */
bool groat__breaker_count(groat__breaker *breaker);
/* The service gave an answer that is none of the above: it closes. */
void groat__breaker_mend(groat__breaker *breaker);
/* Milliseconds until it may be tried again; 0: now; -1: it is closed. */
double groat__breaker_wait_ms(groat__breaker *breaker);
/* True: the time has come, and the caller is the one that tries. */
bool groat__breaker_may_try(groat__breaker *breaker);

#endif
