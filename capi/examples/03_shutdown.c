/* Workers that end at once when a signal comes, whatever each of them waits for, and without polling. The handler raises a flag, which
 * is all that it may do and all that it takes. While it runs, kill -USR1 says who waits. */
#include <layby.h>

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

static layby_cancel_t shutdown_flag = LAYBY_CANCEL_INIT;
static layby_semaphore_t jobs = LAYBY_SEMAPHORE_INIT(5);
static atomic_int configured;

static void on_interrupt(int signal)
{
    (void)signal;
    layby_cancel_raise(&shutdown_flag);
}

static int is_configured(void *unused)
{
    (void)unused;
    return atomic_load_explicit(&configured, memory_order_acquire);
}

static void *work(void *unused)
{
    (void)unused;
    int done = 0;
    while (layby_semaphore_wait_within(&jobs, 1, NULL, &shutdown_flag) == 0)
        done++;
    printf("a worker did %d of the jobs\n", done);
    return NULL;
}

static void *wait_for_configuration(void *unused)
{
    (void)unused;
    struct timespec late;
    layby_deadline_after(&late, UINT64_C(60000000000));
    switch (layby_wait_until_within(&configured, is_configured, NULL, &late, &shutdown_flag)) {
    case 0:
        puts("configured");
        break;
    case ECANCELED:
        puts("shut down before it was configured");
        break;
    default:
        puts("still not configured");
    }
    return NULL;
}

int main(void)
{
    struct sigaction action = { .sa_handler = on_interrupt };
    sigaction(SIGINT, &action, NULL);
    if (layby_dump_waiters_on_signal(SIGUSR1) != 0)
        puts("no reports here");

    pthread_t threads[3];
    pthread_create(&threads[0], NULL, work, NULL);
    pthread_create(&threads[1], NULL, work, NULL);
    pthread_create(&threads[2], NULL, wait_for_configuration, NULL);
    while (layby_semaphore_waiters(&jobs) < 2)
        usleep(1000);
    raise(SIGUSR1);
    raise(SIGINT); /* as Ctrl-C would */
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
