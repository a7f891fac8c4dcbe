// What the tests share. Each test is a function; each runs in a process of its own, which is killed if it hangs.
//   PROGRAM            runs them all, and prints a line for each: ok, not here, FAILED
//   PROGRAM NAME...    runs those
// The same program runs with the preload library and without: what is asked here is what POSIX says, or what glibc does.
#ifndef HARNESS_H
#define HARNESS_H
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PATIENCE = 60, NOT_HERE = 77 };

#define CHECK(condition)                                                                                                         \
    do {                                                                                                                         \
        if (!(condition)) {                                                                                                      \
            printf("    %s:%d: not so: %s (errno %d)\n", __FILE__, __LINE__, #condition, errno);                               \
            fflush(stdout);                                                                                                      \
            _exit(1);                                                                                                            \
        }                                                                                                                        \
    } while (0)

// The call fails, and errno says so.
#define CHECK_FAILS(call, why)                                                                                                   \
    do {                                                                                                                         \
        errno = 0;                                                                                                               \
        CHECK((call) == -1);                                                                                                     \
        CHECK(errno == (why));                                                                                                   \
    } while (0)

struct test {
    const char *name;
    void (*run)(void);
};

static inline int value_of(sem_t *sem) {
    int value = -1;
    CHECK(sem_getvalue(sem, &value) == 0);
    return value;
}

// A time by this clock, so many milliseconds from now.
static inline struct timespec in_ms(clockid_t clock, long ms) {
    struct timespec at;
    CHECK(clock_gettime(clock, &at) == 0);
    long nanos = at.tv_nsec + ms % 1000 * 1000000;
    at.tv_sec += ms / 1000 + (nanos >= 1000000000 ? 1 : nanos < 0 ? -1 : 0);
    at.tv_nsec = (nanos + 1000000000) % 1000000000;
    return at;
}

static inline bool is_past(clockid_t clock, struct timespec at) {
    struct timespec now;
    CHECK(clock_gettime(clock, &now) == 0);
    return now.tv_sec > at.tv_sec || (now.tv_sec == at.tv_sec && now.tv_nsec >= at.tv_nsec);
}

// A thread that says who it is, so that others can see whether it sleeps.
struct thread {
    pthread_t id;
    atomic_int tid;
    void *(*run)(struct thread *);
    void *with;
    atomic_int result;
};

static inline void *thread_main(void *argument) {
    struct thread *thread = argument;
    atomic_store(&thread->tid, (int)syscall(SYS_gettid));
    return thread->run(thread);
}

static inline void start(struct thread *thread, void *(*run)(struct thread *), void *with) {
    thread->run = run, thread->with = with;
    atomic_store(&thread->tid, 0), atomic_store(&thread->result, 0);
    CHECK(pthread_create(&thread->id, NULL, thread_main, thread) == 0);
}

static inline void *join(struct thread *thread) {
    void *result;
    CHECK(pthread_join(thread->id, &result) == 0);
    return result;
}

// Waits until the thread sleeps in a futex call, as every waiter of a semaphore does sooner or later.
static inline void until_asleep(struct thread *thread) {
    char path[64], line[32];
    while (atomic_load(&thread->tid) == 0) sched_yield();
    snprintf(path, sizeof path, "/proc/self/task/%d/syscall", atomic_load(&thread->tid));
    for (;;) {
        int file = open(path, O_RDONLY);
        if (file < 0) exit(NOT_HERE);
        ssize_t length = read(file, line, sizeof line - 1);
        close(file);
        if (length > 0 && (line[length] = 0, atoi(line) == SYS_futex)) return;
        sched_yield();
    }
}

static inline int run_in_child(void (*run)(void)) {
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        alarm(PATIENCE);
        run();
        exit(0);
    }
    int status;
    if (child < 0 || waitpid(child, &status, 0) != child) return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static inline int run_tests(int count, char **names, const struct test *tests, size_t all) {
    int failed = 0;
    for (size_t i = 0; i < all; i++) {
        bool wanted = count == 0;
        for (int n = 0; n < count; n++) wanted |= strcmp(names[n], tests[i].name) == 0;
        if (!wanted) continue;
        int status = run_in_child(tests[i].run);
        if (status == 0) printf("ok        %s\n", tests[i].name);
        else if (status == NOT_HERE) printf("not here  %s\n", tests[i].name);
        else if (status == -SIGALRM) printf("FAILED    %s: hangs\n", tests[i].name);
        else if (status < 0) printf("FAILED    %s: signal %d\n", tests[i].name, -status);
        else printf("FAILED    %s\n", tests[i].name);
        failed |= status != 0 && status != NOT_HERE;
    }
    return failed;
}

#define TESTS(...)                                                                                                               \
    int main(int count, char **names) {                                                                                          \
        static const struct test tests[] = {__VA_ARGS__};                                                                        \
        return run_tests(count - 1, names + 1, tests, sizeof tests / sizeof *tests);                                             \
    }
#define TEST(function) {#function, function}
#endif
