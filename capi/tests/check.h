/* What the tests share: checks that say where they failed, threads, and a watchdog. */
#ifndef CHECK_H
#define CHECK_H

#include <layby.h>

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define CHECK(what)                                                              \
    do {                                                                         \
        if (!(what)) {                                                           \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #what);   \
            exit(1);                                                             \
        }                                                                        \
    } while (0)

#define CHECK_IS(what, expected)                                                                        \
    do {                                                                                                \
        long long is_ = (long long)(what);                                                              \
        if (is_ != (long long)(expected)) {                                                             \
            fprintf(stderr, "%s:%d: %s is %lld, not %s\n", __FILE__, __LINE__, #what, is_, #expected);  \
            exit(1);                                                                                    \
        }                                                                                               \
    } while (0)

/* What a test runs on another thread. */
typedef void *check_thread_t(void *);

static inline pthread_t check_start(check_thread_t *run, void *argument)
{
    pthread_t thread;
    CHECK_IS(pthread_create(&thread, NULL, run, argument), 0);
    return thread;
}

static inline void check_join(pthread_t thread)
{
    CHECK_IS(pthread_join(thread, NULL), 0);
}

/* A millisecond of nanoseconds, and a deadline so many of them away. */
#define MILLISECOND UINT64_C(1000000)

static inline struct timespec check_in(uint64_t milliseconds)
{
    struct timespec deadline;
    layby_deadline_after(&deadline, milliseconds * MILLISECOND);
    return deadline;
}

static inline int check_is_past(const struct timespec *deadline)
{
    struct timespec now = check_in(0);
    return now.tv_sec > deadline->tv_sec || (now.tv_sec == deadline->tv_sec && now.tv_nsec >= deadline->tv_nsec);
}

/* Waits, without a wake-up, for what another thread is about to do. */
#define CHECK_EVENTUALLY(what)                                                                  \
    do {                                                                                        \
        struct timespec patience_ = check_in(60000);                                            \
        while (!(what)) {                                                                       \
            if (check_is_past(&patience_)) {                                                    \
                fprintf(stderr, "%s:%d: still not so: %s\n", __FILE__, __LINE__, #what);        \
                layby_dump_waiters();                                                           \
                exit(1);                                                                        \
            }                                                                                   \
            usleep(100);                                                                        \
        }                                                                                       \
    } while (0)

#endif
