/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GROAT_CORE_POOL_H
#define GROAT_CORE_POOL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "groat.h"
#include "groat_serve.h"

enum { GROAT__POOL_THREADS = 4 };

/* The threads that make the kernels of requests. */
typedef struct groat__pool {
    pthread_mutex_t lock;
    groat_request *first;
    groat_request *last;
    pthread_t threads[GROAT__POOL_THREADS];
    unsigned char states[GROAT__POOL_THREADS]; /* of pool.c */
    bool closing;
} groat__pool;

/* False if memory runs out. */
bool groat__pool_init(groat__pool *pool);
/* Waits for kernels that are being made, fails requests that no thread has
 * begun, and ends the threads; no new one starts. */
void groat__pool_stop(groat__pool *pool);
void groat__pool_free(groat__pool *pool);

#endif
