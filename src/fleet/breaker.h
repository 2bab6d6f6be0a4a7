/* SPDX-License-Identifier: Apache-2.0
 *
 * breaker.h - whether a service that failed is asked again.
 */
#ifndef GROAT_FLEET_BREAKER_H
#define GROAT_FLEET_BREAKER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    GROAT__BREAKER_ERRORS = 8, /* in a row that open it                    */
    GROAT__BREAKER_FIRST_MS = 1000, /* the usual first wait                */
    GROAT__BREAKER_LAST_MS = 60000
};

/* Starts closed.  Any thread but for init and free. */
typedef struct groat__breaker {
    pthread_mutex_t lock;
    bool open;
    unsigned errors; /* in a row, while it is closed       */
    unsigned failed; /* times in a row that it was opened  */
    double first_ms; /* waited before the first try        */
    double retry_ms; /* when it may be tried again         */
    uint64_t opens;
    uint64_t random;
} groat__breaker;

bool groat__breaker_init(groat__breaker *breaker, double first_ms);
void groat__breaker_free(groat__breaker *breaker);

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

#endif
