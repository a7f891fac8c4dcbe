/* What C programs on POSIX rely on: errno, signal handlers, fork, cancellation, reports. Linux only. */
#include "check.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>

static layby_semaphore_t from_handler = LAYBY_SEMAPHORE_INIT(0);
static layby_cancel_t interrupt = LAYBY_CANCEL_INIT;

static void on_signal(int signal)
{
    if (signal == SIGUSR1)
        layby_semaphore_post(&from_handler);
    else
        layby_cancel_raise(&interrupt);
}

static void handle(int signal)
{
    struct sigaction action = { .sa_handler = on_signal };
    CHECK_IS(sigaction(signal, &action, NULL), 0);
}

static void *signal_process(void *signal)
{
    CHECK_EVENTUALLY(layby_semaphore_waiters(&from_handler) == 1);
    CHECK_IS(kill(getpid(), *(int *)signal), 0);
    return NULL;
}

static void handlers_post_and_cancel(void)
{
    int post = SIGUSR1, cancel = SIGINT;
    handle(post);
    handle(cancel);
    pthread_t other = check_start(signal_process, &post);
    layby_semaphore_wait(&from_handler); /* no EINTR: it goes on */
    check_join(other);
    other = check_start(signal_process, &cancel);
    CHECK_IS(layby_semaphore_wait_within(&from_handler, 1, NULL, &interrupt), ECANCELED);
    check_join(other);
}

static int yes(void *unused)
{
    (void)unused;
    return 1;
}

static void *post_when_waited_for(void *semaphore)
{
    CHECK_EVENTUALLY(layby_semaphore_waiters(semaphore) == 1);
    usleep(2000); /* so that it sleeps, most likely */
    layby_semaphore_post(semaphore);
    return NULL;
}

static void errno_stays_as_it_was(void)
{
    layby_semaphore_t s = LAYBY_SEMAPHORE_INIT(0);
    layby_eventcount_t count = LAYBY_EVENTCOUNT_INIT;
    for (int i = 0; i < 20; i++) {
        pthread_t other = check_start(post_when_waited_for, &s);
        struct timespec soon = check_in(2), soon_too = check_in(3), third = check_in(4);
        errno = EXDEV;
        layby_semaphore_wait(&s);
        CHECK_IS(layby_semaphore_timedwait(&s, &soon), ETIMEDOUT);
        CHECK_IS(layby_eventcount_wait_within(&count, 1, &soon_too, NULL), ETIMEDOUT);
        while (layby_wait_if(&s, yes, NULL, &third, NULL) == 0) {
        }
        CHECK_IS(layby_semaphore_post_many(&s, UINT64_MAX), EOVERFLOW);
        layby_wake_all(&s);
        CHECK_IS(errno, EXDEV);
        check_join(other);
    }
}

static void *wait_forever(void *semaphore)
{
    layby_semaphore_wait(semaphore);
    return NULL;
}

static int exit_of(pid_t child)
{
    int status;
    CHECK_IS(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void a_child_is_alone_and_can_wait(void)
{
    static layby_semaphore_t held = LAYBY_SEMAPHORE_INIT(0);
    pthread_t waiter = check_start(wait_forever, &held);
    CHECK_EVENTUALLY(layby_semaphore_waiters(&held) == 1);
    usleep(5000); /* until it sleeps */
    pid_t child = fork();
    if (child == 0) {
        alarm(60);
        /* What the thread that forked held, it can give back and take again. */
        layby_semaphore_post(&held);
        struct timespec soon = check_in(1000);
        if (layby_semaphore_timedwait(&held, &soon) != 0)
            _exit(1);
        soon = check_in(1);
        _exit(layby_semaphore_timedwait(&held, &soon) == ETIMEDOUT ? 0 : 2);
    }
    CHECK_IS(exit_of(child), 0);
    layby_semaphore_post(&held);
    check_join(waiter);
}

static void a_wait_is_no_cancellation_point(void)
{
    layby_semaphore_t s = LAYBY_SEMAPHORE_INIT(0);
    pthread_t waiter = check_start(wait_forever, &s);
    CHECK_EVENTUALLY(layby_semaphore_waiters(&s) == 1);
    CHECK_IS(pthread_cancel(waiter), 0);
    usleep(2000);
    CHECK_IS(layby_semaphore_waiters(&s), 1);
    layby_semaphore_post(&s);
    check_join(waiter);
    CHECK_IS(layby_semaphore_value(&s), 0);
}

static size_t reported(char *text, size_t size)
{
    int pipes[2], before = dup(2);
    CHECK_IS(pipe(pipes), 0);
    CHECK(dup2(pipes[1], 2) == 2);
    CHECK_IS(raise(SIGUSR2), 0);
    CHECK(dup2(before, 2) == 2);
    close(pipes[1]);
    size_t length = 0;
    for (ssize_t n; length < size - 1 && (n = read(pipes[0], text + length, size - 1 - length)) > 0;)
        length += (size_t)n;
    text[length] = 0;
    close(pipes[0]);
    close(before);
    return length;
}

static void a_signal_reports_who_waits(void)
{
    static layby_semaphore_t s = LAYBY_SEMAPHORE_INIT(0);
    char text[4096], address[32];
    snprintf(address, sizeof address, "on %p", (void *)&s);
    CHECK_IS(layby_dump_waiters_on_signal(SIGUSR2), 0);
    CHECK_IS(layby_dump_waiters_on_signal(SIGSEGV), EINVAL);
    CHECK_IS(layby_dump_waiters_on_signal(SIGKILL), EINVAL);
    CHECK_IS(layby_dump_waiters_on_signal(-1), EINVAL);
    CHECK(reported(text, sizeof text) && !strstr(text, address));
    pthread_t waiter = check_start(wait_forever, &s);
    CHECK_EVENTUALLY(reported(text, sizeof text) && strstr(text, address) && strstr(text, "1 waiting"));
    layby_semaphore_post(&s);
    check_join(waiter);
}

int main(void)
{
    handlers_post_and_cancel();
    errno_stays_as_it_was();
    a_child_is_alone_and_can_wait();
    a_wait_is_no_cancellation_point();
    a_signal_reports_who_waits();
    return 0;
}
