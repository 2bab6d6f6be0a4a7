/* SPDX-License-Identifier: Apache-2.0
 *
 * breaker.h - circuit breaker of a service that fails.
 */
#ifndef GROAT_FLEET_BREAKER_H
#define GROAT_FLEET_BREAKER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum {
    GROAT__BREAKER_ERRORS = 8, /* errors in a row that open it */
    /* The time spent on late answers that opens it, which is the longest wait
     * of a get, and the time in which as much is forgotten. */
    GROAT__BREAKER_LOST_MS = 950,
    GROAT__BREAKER_FORGET_MS = 60000,
    GROAT__BREAKER_FIRST_MS = 1000, /* the usual first wait */
    GROAT__BREAKER_LAST_MS = 60000,
    GROAT__BREAKER_TRY_MS = 2000 /* longer than an exchange takes */
};

/* The state of a service; any thread.  The lock guards what changes. */
typedef struct groat__breaker {
    struct groat__breaker *next;
    int process; /* the number of the one that asks the service */
    pthread_mutex_t lock;
    bool open;
    unsigned errors; /* in a row, while it is closed      */
    double lost_ms;  /* on late answers, less the forgotten, at late_ms */
    double late_ms;  /* time of the last late answer      */
    unsigned failed; /* times in a row that it was opened */
    double first_ms; /* wait before the first try         */
    double retry_ms; /* time of the next try              */
    uint64_t opens;
    uint64_t random;
    char name[]; /* the service's */
} groat__breaker;

/* Returns the breaker of a service, closed at first: one for all contexts of
 * the process, and a separate one in a child of fork().  It is never freed.
 * NULL if memory runs out. */
groat__breaker *groat__breaker_of(const char *name, double first_ms);

/* Whether the service may be asked: the breaker is closed. */
bool groat__breaker_is_closed(groat__breaker *breaker);
/* The service gave no answer: opens the breaker.  Returns true if it was
 * closed; does nothing if it is already open. */
bool groat__breaker_trip(groat__breaker *breaker);
/* A try gave no answer: the breaker stays open for twice as long, up to
 * GROAT__BREAKER_LAST_MS, with a jitter of a half either way. */
void groat__breaker_extend(groat__breaker *breaker);
/* The service gave a wrong answer: opens the breaker after
 * GROAT__BREAKER_ERRORS in a row.  Returns true if it opened. */
bool groat__breaker_count(groat__breaker *breaker);
/* The service gave no answer within ms: opens the breaker after
 * GROAT__BREAKER_LOST_MS in all, whatever answers came between; they are
 * forgotten at GROAT__BREAKER_LOST_MS in GROAT__BREAKER_FORGET_MS.  True: it
 * opened. */
bool groat__breaker_late(groat__breaker *breaker, double ms);
/* The service gave a good answer: closes the breaker. */
void groat__breaker_mend(groat__breaker *breaker);
/* A good answer that says less, as to a try: closes the breaker until the first
 * error or late answer, which opens it for twice as long; what ends this is
 * groat__breaker_mend(), or GROAT__BREAKER_FORGET_MS. */
void groat__breaker_close(groat__breaker *breaker);
/* Milliseconds until the next try; 0: now; -1: the breaker is closed. */
double groat__breaker_wait_ms(groat__breaker *breaker);
/* Whether a try is due; if so, the caller is the one that makes it, and takes
 * ms at most. */
bool groat__breaker_may_try(groat__breaker *breaker, double ms);

#endif
