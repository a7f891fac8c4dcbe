/* Semaphores: every function, every error number, and the order of those who wait. */
#include "check.h"

static layby_semaphore_t from_constant = LAYBY_SEMAPHORE_INIT(2);

static void initialisers(void)
{
    layby_semaphore_t made;
    CHECK_IS(layby_semaphore_value(&from_constant), 2);
    CHECK_IS(layby_semaphore_init(&made, 3), 0);
    CHECK_IS(layby_semaphore_value(&made), 3);
    CHECK_IS(layby_semaphore_init(&made, LAYBY_SEMAPHORE_MAX), 0);
    CHECK_IS(layby_semaphore_value(&made), LAYBY_SEMAPHORE_MAX);
    CHECK_IS(layby_semaphore_init(&made, LAYBY_SEMAPHORE_MAX + 1), EINVAL);
    CHECK_IS(layby_semaphore_value(&made), LAYBY_SEMAPHORE_MAX);
}

static void takes_without_waiting(void)
{
    layby_semaphore_t s = LAYBY_SEMAPHORE_INIT(6);
    struct timespec past = { 0, 0 };
    layby_semaphore_wait(&s);
    CHECK_IS(layby_semaphore_trywait(&s), 0);
    CHECK_IS(layby_semaphore_timedwait(&s, &past), 0);
    CHECK_IS(layby_semaphore_wait_many(&s, 2), 0);
    CHECK_IS(layby_semaphore_trywait_many(&s, 2), EAGAIN);
    CHECK_IS(layby_semaphore_trywait_many(&s, 1), 0);
    CHECK_IS(layby_semaphore_trywait(&s), EAGAIN);
    CHECK_IS(layby_semaphore_wait_many(&s, 0), 0);
    CHECK_IS(layby_semaphore_trywait_many(&s, 0), 0);
    CHECK_IS(layby_semaphore_value(&s), 0);
    layby_semaphore_post(&s);
    layby_semaphore_post_last(&s);
    CHECK_IS(layby_semaphore_post_many(&s, 3), 0);
    CHECK_IS(layby_semaphore_post_many(&s, 0), 0);
    CHECK_IS(layby_semaphore_value(&s), 5);
}

static void bad_input_is_an_error_number(void)
{
    layby_semaphore_t empty = LAYBY_SEMAPHORE_INIT(0), full = LAYBY_SEMAPHORE_INIT(LAYBY_SEMAPHORE_MAX);
    struct timespec no_time = { 5, 1000000000 }, nor_this = { 5, -1 }, before_boot = { -1, 0 };
    CHECK_IS(layby_semaphore_timedwait(&empty, &no_time), EINVAL);
    CHECK_IS(layby_semaphore_timedwait(&empty, &nor_this), EINVAL);
    CHECK_IS(layby_semaphore_timedwait(&empty, &before_boot), ETIMEDOUT);
    CHECK_IS(layby_semaphore_wait_many(&empty, LAYBY_SEMAPHORE_MAX + 1), EINVAL);
    CHECK_IS(layby_semaphore_trywait_many(&empty, UINT64_MAX), EINVAL);
    CHECK_IS(layby_semaphore_wait_within(&empty, UINT64_MAX, NULL, NULL), EINVAL);
    CHECK_IS(layby_semaphore_post_many(&full, 1), EOVERFLOW);
    CHECK_IS(layby_semaphore_post_many(&empty, LAYBY_SEMAPHORE_MAX + 1), EOVERFLOW);
    CHECK_IS(layby_semaphore_value(&empty), 0);
    CHECK_IS(layby_semaphore_waiters(&empty), 0);
    layby_semaphore_post(&full);
    CHECK_IS(layby_semaphore_value(&full), LAYBY_SEMAPHORE_MAX);
}

static void *take_very_many(void *semaphore)
{
    CHECK_IS(layby_semaphore_wait_many(semaphore, LAYBY_SEMAPHORE_MAX), 0);
    return NULL;
}

static void more_than_can_wait_is_an_error_number(void)
{
    layby_semaphore_t s = LAYBY_SEMAPHORE_INIT(0);
    pthread_t waiter = check_start(take_very_many, &s);
    CHECK_EVENTUALLY(layby_semaphore_waiters(&s) == LAYBY_SEMAPHORE_MAX);
    CHECK_IS(layby_semaphore_wait_many(&s, 2), EOVERFLOW);
    CHECK_IS(layby_semaphore_post_many(&s, LAYBY_SEMAPHORE_MAX), 0);
    check_join(waiter);
    CHECK_IS(layby_semaphore_value(&s), 0);
}

static void a_deadline_is_never_early(void)
{
    layby_semaphore_t s = LAYBY_SEMAPHORE_INIT(0);
    for (int i = 0; i < 5; i++) {
        struct timespec deadline = check_in(2);
        CHECK_IS(layby_semaphore_timedwait(&s, &deadline), ETIMEDOUT);
        CHECK(check_is_past(&deadline));
    }
    CHECK_IS(layby_semaphore_waiters(&s), 0);
    layby_semaphore_post(&s);
    CHECK_IS(layby_semaphore_timedwait(&s, NULL), 0);
    struct timespec never;
    layby_deadline_after(&never, UINT64_MAX);
    layby_semaphore_post(&s);
    CHECK_IS(layby_semaphore_timedwait(&s, &never), 0);
}

/* Those who wait, and the order in which they were served. */
static struct line {
    layby_semaphore_t semaphore, served_lock;
    int served[8], count;
} line = { LAYBY_SEMAPHORE_INIT(0), LAYBY_SEMAPHORE_INIT(1), { 0 }, 0 };

struct place {
    int number, permits;
};

static void *stand_in_line(void *place)
{
    const struct place *mine = place;
    CHECK_IS(layby_semaphore_wait_many(&line.semaphore, mine->permits), 0);
    layby_semaphore_wait(&line.served_lock);
    line.served[line.count++] = mine->number;
    layby_semaphore_post(&line.served_lock);
    return NULL;
}

static int served(void)
{
    layby_semaphore_wait(&line.served_lock);
    int count = line.count;
    layby_semaphore_post(&line.served_lock);
    return count;
}

static void first_come_first_served(void)
{
    struct place places[4] = { { 0, 1 }, { 1, 3 }, { 2, 1 }, { 3, 2 } };
    pthread_t threads[4];
    unsigned waiting = 0;
    for (int i = 0; i < 4; i++) {
        threads[i] = check_start(stand_in_line, &places[i]);
        waiting += places[i].permits;
        CHECK_EVENTUALLY(layby_semaphore_waiters(&line.semaphore) == waiting);
    }
    for (int i = 0; i < 4; i++) {
        for (int n = 0; n < places[i].permits; n++) {
            CHECK_IS(served(), i);
            CHECK_IS(layby_semaphore_trywait(&line.semaphore), EAGAIN);
            layby_semaphore_post(&line.semaphore);
        }
        CHECK_EVENTUALLY(served() == i + 1);
        CHECK_IS(line.served[i], i);
    }
    for (int i = 0; i < 4; i++)
        check_join(threads[i]);
}

struct cancelled {
    layby_semaphore_t semaphore;
    layby_cancel_t cancel;
};

static void *wait_to_be_cancelled(void *argument)
{
    struct cancelled *c = argument;
    struct timespec late = check_in(60000);
    CHECK_IS(layby_semaphore_wait_within(&c->semaphore, 2, &late, &c->cancel), ECANCELED);
    return NULL;
}

static void a_wait_can_be_cancelled(void)
{
    struct cancelled c = { LAYBY_SEMAPHORE_INIT(1), LAYBY_CANCEL_INIT };
    pthread_t waiter = check_start(wait_to_be_cancelled, &c);
    CHECK_EVENTUALLY(layby_semaphore_waiters(&c.semaphore) == 1);
    CHECK_IS(layby_cancel_is_raised(&c.cancel), 0);
    layby_cancel_raise(&c.cancel);
    check_join(waiter);
    CHECK(layby_cancel_is_raised(&c.cancel));
    CHECK_IS(layby_semaphore_value(&c.semaphore), 1); /* nothing is lost */
    CHECK_IS(layby_semaphore_wait_within(&c.semaphore, 1, NULL, &c.cancel), 0); /* what is there comes first */
    CHECK_IS(layby_semaphore_wait_within(&c.semaphore, 1, NULL, &c.cancel), ECANCELED);
    CHECK(layby_cancel_reset(&c.cancel));
    CHECK(!layby_cancel_reset(&c.cancel));
    struct timespec soon = check_in(1);
    CHECK_IS(layby_semaphore_wait_within(&c.semaphore, 1, &soon, &c.cancel), ETIMEDOUT);
}

/* A request whose semaphore is on the stack of who waits for it: gone as soon as that has its permit. */
static struct request {
    layby_semaphore_t done;
} *request;
static layby_semaphore_t requested = LAYBY_SEMAPHORE_INIT(0);

enum { REQUESTS = 20000 };

static void *serve(void *unused)
{
    (void)unused;
    for (int i = 0; i < REQUESTS; i++) {
        layby_semaphore_wait(&requested);
        layby_semaphore_post_last(&request->done);
    }
    return NULL;
}

static void who_waits_may_free_the_semaphore(void)
{
    pthread_t server = check_start(serve, NULL);
    for (int i = 0; i < REQUESTS; i++) {
        struct request *mine = malloc(sizeof *mine);
        *mine = (struct request){ LAYBY_SEMAPHORE_INIT(0) };
        request = mine;
        layby_semaphore_post(&requested);
        if (i % 2) {
            struct timespec late = check_in(60000);
            CHECK_IS(layby_semaphore_timedwait(&mine->done, &late), 0);
        } else {
            layby_semaphore_wait(&mine->done);
        }
        free(mine);
    }
    check_join(server);
}

int main(void)
{
    initialisers();
    takes_without_waiting();
    bad_input_is_an_error_number();
    more_than_can_wait_is_an_error_number();
    a_deadline_is_never_early();
    first_come_first_served();
    a_wait_can_be_cancelled();
    who_waits_may_free_the_semaphore();
    CHECK(layby_version()[0] == LAYBY_VERSION[0]);
    return 0;
}
