/* SPDX-License-Identifier: Apache-2.0
 *
 * resolve.c looks up hosts on separate threads, since getaddrinfo() has no
 * timeout.
 *
 * Invariant: a look-up belongs to its thread and to a resolver; the last of the
 * two frees it.
 * Locking: the look-up's own lock, not held during the look-up; the caller
 * guards a resolver.
 */
#include "fleet/resolve.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/thread.h"

typedef struct groat__look_up {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool done;
    bool left; /* its resolver was closed */
    int error;
    struct addrinfo *found;
    char host[]; /* a copy */
} look_up;

static const struct addrinfo stream = {.ai_socktype = SOCK_STREAM};

static void look_up_free(look_up *l)
{
    if (l->found != NULL)
        freeaddrinfo(l->found);
    groat__wait_free(&l->lock, &l->changed);
    free(l);
}

static void *run(void *user)
{
    look_up *l = user;
    struct addrinfo *found = NULL;
    int error = getaddrinfo(l->host, NULL, &stream, &found);
    bool left;

    (void)pthread_mutex_lock(&l->lock);
    l->done = true;
    l->error = error;
    l->found = error == 0 ? found : NULL;
    left = l->left;
    (void)pthread_cond_broadcast(&l->changed);
    (void)pthread_mutex_unlock(&l->lock);
    if (left)
        look_up_free(l);
    return NULL;
}

static look_up *look_up_new(const char *host)
{
    look_up *l = calloc(1, sizeof(*l) + strlen(host) + 1);
    pthread_t thread;

    if (l == NULL || !groat__wait_init(&l->lock, &l->changed)) {
        free(l);
        return NULL;
    }
    memcpy(l->host, host, strlen(host) + 1);
    if (!groat__thread_start(&thread, run, l)) {
        look_up_free(l);
        return NULL;
    }
    (void)pthread_detach(thread);
    return l;
}

/* A numeric address needs no look-up and no thread. */
static struct addrinfo *numeric(const char *host)
{
    struct addrinfo hints = stream;
    struct addrinfo *found = NULL;

    hints.ai_flags = AI_NUMERICHOST;
    return getaddrinfo(host, NULL, &hints, &found) == 0 ? found : NULL;
}

/* Returns false if the look-up is not done in time. */
static bool wait_for(look_up *l, unsigned ms)
{
    const struct timespec end = groat__after_ms(ms);
    bool done;

    (void)pthread_mutex_lock(&l->lock);
    while (!l->done && pthread_cond_timedwait(&l->changed, &l->lock, &end) == 0)
        continue;
    done = l->done;
    (void)pthread_mutex_unlock(&l->lock);
    return done;
}

struct addrinfo *groat__resolve(groat__resolver *resolver, const char *host,
                                unsigned ms, const char **why)
{
    struct addrinfo *found = numeric(host);
    look_up *l = resolver->pending;

    if (found != NULL)
        return found;
    if (l == NULL)
        l = resolver->pending = look_up_new(host);
    if (l == NULL) {
        *why = "no memory or no thread for a look-up";
        return NULL;
    }
    if (!wait_for(l, ms)) {
        *why = "its name is not resolved in time";
        return NULL;
    }
    *why = gai_strerror(l->error);
    found = l->found;
    l->found = NULL;
    resolver->pending = NULL;
    look_up_free(l);
    return found;
}

/* Keeps our code loaded, since the thread will return to it. */
static void keep_loaded(void)
{
    Dl_info info;

    if (dladdr((const void *)&stream, &info) != 0)
        (void)dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
}

void groat__resolver_close(groat__resolver *resolver)
{
    look_up *l = resolver->pending;
    bool done;

    if (l == NULL)
        return;
    resolver->pending = NULL;
    (void)pthread_mutex_lock(&l->lock);
    done = l->done;
    l->left = true;
    if (!done)
        keep_loaded();
    (void)pthread_mutex_unlock(&l->lock);
    if (done)
        look_up_free(l);
}
