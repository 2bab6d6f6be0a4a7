/* SPDX-License-Identifier: Apache-2.0
 *
 * threads.h - counts the threads of a test's process.
 */
#ifndef GROAT_TEST_THREADS_H
#define GROAT_TEST_THREADS_H

#include <dirent.h>
#include <pthread.h>

#include "suite.h"

static inline int count_threads(void)
{
    DIR *dir = opendir("/proc/self/task");
    int count = 0;

    if (dir == NULL)
        return 0;
    for (struct dirent *item; (item = readdir(dir)) != NULL;)
        count += item->d_name[0] != '.';
    (void)closedir(dir);
    return count;
}

static inline void *do_nothing(void *user)
{
    return user;
}

/* Counts the threads before a test makes its own.  Includes the sanitizer's own
 * thread, which starts with the first thread that is created. */
static inline int first_threads(void)
{
    pthread_t thread;

    ck_assert_int_eq(pthread_create(&thread, NULL, do_nothing, NULL), 0);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    (void)usleep(20000);
    return count_threads();
}

/* A joined thread may still be listed for a moment. */
static inline void ck_threads(int expected)
{
    for (int i = 0; i < 2000 && count_threads() != expected; i++)
        (void)usleep(1000);
    ck_assert_int_eq(count_threads(), expected);
}

#endif
