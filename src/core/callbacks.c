/* SPDX-License-Identifier: Apache-2.0
 *
 * callbacks.c makes it safe for a callback of the program to call the library.
 * While a thread owns something that other threads wait for (an in-flight
 * build, a request, a machine that is being opened), its log lines and compile
 * events are queued, and reported afterwards.  Threads that are in a callback
 * are listed, since groat_close() must not be called from one.
 * Locking: one lock for the list of threads; no callback runs with it held.
 */
#include "core/callbacks.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

bool groat__callbacks_init(groat__callbacks *callbacks, groat__log user)
{
    callbacks->user = user;
    return pthread_mutex_init(&callbacks->lock, NULL) == 0;
}

void groat__callbacks_free(groat__callbacks *callbacks)
{
    (void)pthread_mutex_destroy(&callbacks->lock);
}

static void enter(groat__callbacks *callbacks, groat__callback_scope *self,
                  bool quiet)
{
    memset(self, 0, sizeof(*self));
    self->thread = pthread_self();
    self->quiet = quiet;
    (void)pthread_mutex_lock(&callbacks->lock);
    self->next = callbacks->first;
    callbacks->first = self;
    (void)pthread_mutex_unlock(&callbacks->lock);
}

static void leave(groat__callbacks *callbacks, groat__callback_scope *self)
{
    groat__callback_scope **at = &callbacks->first;

    (void)pthread_mutex_lock(&callbacks->lock);
    while (*at != self)
        at = &(*at)->next;
    *at = self->next;
    (void)pthread_mutex_unlock(&callbacks->lock);
}

/* With the lock held: the innermost entry of this thread, or NULL. */
static groat__callback_scope *find(const groat__callbacks *callbacks,
                                   bool quiet)
{
    groat__callback_scope *p = callbacks->first;

    while (p != NULL &&
           (p->quiet != quiet || !pthread_equal(p->thread, pthread_self())))
        p = p->next;
    return p;
}

bool groat__callback_runs(groat__callbacks *callbacks)
{
    bool runs;

    (void)pthread_mutex_lock(&callbacks->lock);
    runs = find(callbacks, false) != NULL;
    (void)pthread_mutex_unlock(&callbacks->lock);
    return runs;
}

void groat__callback_begin(groat__callbacks *callbacks,
                           groat__callback_scope *self)
{
    enter(callbacks, self, false);
}

void groat__callback_end(groat__callbacks *callbacks,
                         groat__callback_scope *self)
{
    leave(callbacks, self);
}

void groat__quiet_begin(groat__callbacks *callbacks,
                        groat__callback_scope *self)
{
    enter(callbacks, self, true);
}

/* A groat_log_fn. */
static void say(void *user, int level, const char *line)
{
    groat__callbacks *callbacks = user;
    groat__callback_scope self;
    groat__callback_scope *quiet;

    (void)pthread_mutex_lock(&callbacks->lock);
    quiet = find(callbacks, true);
    if (quiet != NULL)
        groat__str_addf(&quiet->lines, "%d%s\n", level, line);
    (void)pthread_mutex_unlock(&callbacks->lock);
    if (quiet != NULL)
        return;
    groat__callback_begin(callbacks, &self);
    callbacks->user.fn(callbacks->user.user, level, line);
    groat__callback_end(callbacks, &self);
}

static void free_event(groat__compiled *event)
{
    free(event->spec);
    free(event->target);
    groat_error_clear(&event->error);
    free(event);
}

/* Takes ownership of the event. */
static void tell(groat__callbacks *callbacks, groat__compiled *event)
{
    groat__callback_scope self;
    groat__callback_scope *quiet;

    (void)pthread_mutex_lock(&callbacks->lock);
    quiet = find(callbacks, true);
    if (quiet != NULL && quiet->first == NULL)
        quiet->first = event;
    else if (quiet != NULL)
        quiet->last->next = event;
    if (quiet != NULL)
        quiet->last = event;
    (void)pthread_mutex_unlock(&callbacks->lock);
    if (quiet != NULL)
        return;
    groat__callback_begin(callbacks, &self);
    callbacks->compiled(callbacks->compiled_user, &event->event);
    groat__callback_end(callbacks, &self);
    free_event(event);
}

void groat__callbacks_compiled(groat__callbacks *callbacks, const char *spec,
                               const groat_compile_event *event,
                               const groat_error *error)
{
    groat__compiled *copy;

    if (callbacks->compiled == NULL)
        return;
    copy = calloc(1, sizeof(*copy));
    if (copy == NULL)
        return;
    copy->event = *event;
    copy->error = (groat_error)GROAT_ERROR_INIT;
    copy->spec = strdup(spec);
    copy->target = strdup(event->target);
    copy->event.spec = copy->spec;
    copy->event.target = copy->target;
    if (error != NULL) {
        groat__error_copy(&copy->error, error);
        copy->event.error = &copy->error;
    }
    if (copy->spec == NULL || copy->target == NULL)
        free_event(copy);
    else
        tell(callbacks, copy);
}

void groat__quiet_end(groat__callbacks *callbacks, groat__callback_scope *self)
{
    leave(callbacks, self);
    for (char *line = self->lines.data; line != NULL && *line != '\0';) {
        char *end = strchr(line, '\n');

        if (end != NULL)
            *end = '\0';
        say(callbacks, *line - '0', line + 1);
        line = end == NULL ? NULL : end + 1;
    }
    groat__str_free(&self->lines);
    while (self->first != NULL) {
        groat__compiled *event = self->first;

        self->first = event->next;
        event->next = NULL;
        tell(callbacks, event);
    }
}

groat__log groat__callbacks_log(groat__callbacks *callbacks)
{
    return callbacks->user.fn == NULL ? callbacks->user
                                      : (groat__log){say, callbacks};
}
