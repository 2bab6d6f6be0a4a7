/* SPDX-License-Identifier: Apache-2.0
 *
 * target.c: the default target of core/target.c, in every execution that C11's
 * memory model allows: two threads determine it while a third reads it as a
 * look-up does.  A thread that sees its text sees all of it.
 */
#include "tests/litmus/small.h"

typedef int pthread_cond_t;
#include "src/core/target.c"

/* There is no device: the target that needs none is chosen. */
bool groat__device_target(groat_context *context, groat__backend_id id,
                          char out[48])
{
    (void)context;
    (void)id;
    for (int i = 0; i < 48; i++)
        out[i] = 0;
    return false;
}

static groat_context context;
static volatile unsigned process = 1;

static void *find(void *unused)
{
    const char *target = groat_default_target(&context);

    assert(target[0] == 'c' && target[9] == '0');
    return unused;
}

static void *look(void *unused)
{
    const char *target =
        atomic_load_explicit(&context.default_ready, memory_order_acquire);

    assert(target == NULL || (target[0] == 'c' && target[9] == '0'));
    return unused;
}

int main(void)
{
    pthread_t threads[3];

    context.process.page = &process;
    if (pthread_mutex_init(&context.lock, NULL) != 0 ||
        pthread_create(&threads[0], NULL, find, NULL) != 0 ||
        pthread_create(&threads[1], NULL, find, NULL) != 0 ||
        pthread_create(&threads[2], NULL, look, NULL) != 0)
        return 1;
    return 0;
}
