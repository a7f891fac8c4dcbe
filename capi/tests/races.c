/* Every hand-over, of data that is not atomic: ThreadSanitizer has nothing to report. With -DSEEDED_RACE one of them lacks its post,
 * and ThreadSanitizer has to report that. */
#include "check.h"

#include <stdatomic.h>

static struct handed {
    layby_semaphore_t full, empty;
    layby_eventcount_t written, read;
    layby_sequencer_t tickets;
    layby_cancel_t cancel;
    atomic_int flag;
    int data;
} h = {
    LAYBY_SEMAPHORE_INIT(0), LAYBY_SEMAPHORE_INIT(1), LAYBY_EVENTCOUNT_INIT, LAYBY_EVENTCOUNT_INIT,
    LAYBY_SEQUENCER_INIT,    LAYBY_CANCEL_INIT,       0,                     0,
};

enum { ROUNDS = 2000 };

static int flag_is_set(void *expected)
{
    return atomic_load_explicit(&h.flag, memory_order_acquire) == *(int *)expected;
}

static int flag_is_not_set(void *expected)
{
    return !flag_is_set(expected);
}

/* Each way to take, in turn. */
static void take_full(int round)
{
    struct timespec late = check_in(60000);
    switch (round % 6) {
    case 0:
        layby_semaphore_wait(&h.full);
        break;
    case 1:
        while (layby_semaphore_trywait(&h.full) != 0)
            usleep(1);
        break;
    case 2:
        CHECK_IS(layby_semaphore_timedwait(&h.full, &late), 0);
        break;
    case 3:
        CHECK_IS(layby_semaphore_wait_many(&h.full, 1), 0);
        break;
    case 4:
        while (layby_semaphore_trywait_many(&h.full, 1) != 0)
            usleep(1);
        break;
    default:
        CHECK_IS(layby_semaphore_wait_within(&h.full, 1, &late, NULL), 0);
    }
}

static void post_full(int round)
{
    switch (round % 3) {
    case 0:
        layby_semaphore_post(&h.full);
        break;
    case 1:
        layby_semaphore_post_last(&h.full);
        break;
    default:
        CHECK_IS(layby_semaphore_post_many(&h.full, 1), 0);
    }
}

static void *consume(void *unused)
{
    (void)unused;
    for (int i = 0; i < ROUNDS; i++) {
        take_full(i / 3);
        CHECK_IS(h.data, i);
        layby_semaphore_post(&h.empty);
    }
    return NULL;
}

static void semaphores_hand_over(void)
{
    pthread_t consumer = check_start(consume, NULL);
    for (int i = 0; i < ROUNDS; i++) {
        layby_semaphore_wait(&h.empty);
        h.data = i;
        post_full(i);
    }
    check_join(consumer);
}

static void *follow(void *unused)
{
    (void)unused;
    for (int i = 0; i < ROUNDS; i++) {
        struct timespec late = check_in(60000);
        if (i % 3 == 0)
            CHECK_IS(layby_eventcount_wait(&h.written, i + 1), 0);
        else if (i % 3 == 1)
            CHECK_IS(layby_eventcount_wait_within(&h.written, i + 1, &late, NULL), 0);
        else
            while (layby_eventcount_read(&h.written) < (uint64_t)i + 1)
                usleep(1);
        CHECK_IS(h.data, i);
        CHECK_IS(layby_eventcount_advance(&h.read, 1, NULL), 0);
    }
    CHECK_IS(layby_eventcount_wait(&h.written, ROUNDS + 1), EPIPE);
    CHECK_IS(h.data, -1);
    return NULL;
}

static void eventcounts_hand_over(void)
{
    pthread_t follower = check_start(follow, NULL);
    for (int i = 0; i < ROUNDS; i++) {
        CHECK_IS(layby_eventcount_wait(&h.read, i), 0);
        h.data = i;
        CHECK_IS(layby_eventcount_advance(&h.written, 1, NULL), 0);
    }
    CHECK_IS(layby_eventcount_wait(&h.read, ROUNDS), 0);
    h.data = -1;
    layby_eventcount_close(&h.written);
    check_join(follower);
}

static void *draw(void *unused)
{
    (void)unused;
    uint64_t mine;
    CHECK_IS(layby_sequencer_tickets(&h.tickets, 1, &mine), 0);
    if (mine == 1)
        CHECK_IS(h.data, 5);
    return NULL;
}

/* Whoever draws the second ticket knows what was done before the first was drawn. */
static void sequencers_hand_over(void)
{
    uint64_t first;
    h.data = 5;
    pthread_t other = check_start(draw, NULL);
    CHECK_IS(layby_sequencer_tickets(&h.tickets, 1, &first), 0);
    check_join(other);
}

static void *see_cancelled(void *which)
{
    struct timespec late = check_in(60000);
    int never = 100;
    switch (*(int *)which) {
    case 0:
        CHECK_IS(layby_semaphore_wait_within(&h.full, 1, &late, &h.cancel), ECANCELED);
        break;
    case 1:
        CHECK_IS(layby_eventcount_wait_within(&h.read, 1 << 30, &late, &h.cancel), ECANCELED);
        break;
    case 2:
        CHECK_IS(layby_wait_until_within(&h, flag_is_set, &never, &late, &h.cancel), ECANCELED);
        break;
    case 3:
        while (layby_wait_if(&h, flag_is_not_set, &never, &late, &h.cancel) == 0) {
        }
        break;
    case 4:
        while (!layby_cancel_is_raised(&h.cancel))
            usleep(1);
        break;
    default:
        while (!layby_cancel_reset(&h.cancel))
            usleep(1);
    }
    CHECK_IS(h.data, 6);
    return NULL;
}

static void cancellation_hands_over(void)
{
    for (int which = 0; which < 6; which++) {
        h.data = 0;
        pthread_t other = check_start(see_cancelled, &which);
        h.data = 6;
        layby_cancel_raise(&h.cancel);
        check_join(other);
        layby_cancel_reset(&h.cancel);
    }
}

static void *wait_for_flag(void *unused)
{
    (void)unused;
    for (int i = 1; i <= ROUNDS; i += 2) {
        CHECK_IS(layby_wait_until(&h.flag, flag_is_set, &i), 0);
        CHECK_IS(h.data, i);
        h.data = i + 1;
        atomic_store_explicit(&h.flag, i + 1, memory_order_release);
        layby_wake_all(&h.flag);
    }
    return NULL;
}

static void conditions_hand_over(void)
{
    pthread_t other = check_start(wait_for_flag, NULL);
    for (int i = 1; i <= ROUNDS; i += 2) {
        int next = i + 1;
        h.data = i;
        atomic_store_explicit(&h.flag, i, memory_order_release);
        layby_wake_all(&h.flag);
        while (flag_is_not_set(&next))
            CHECK_IS(layby_wait_if(&h.flag, flag_is_not_set, &next, NULL, NULL), 0);
        CHECK_IS(h.data, next);
    }
    check_join(other);
}

#ifdef SEEDED_RACE
static void *look_at_data(void *unused)
{
    (void)unused;
    layby_semaphore_wait(&h.full);
    return (void *)(intptr_t)h.data;
}

static void a_race(void)
{
    layby_semaphore_post(&h.full);
    pthread_t other = check_start(look_at_data, NULL);
    h.data = 9;
    check_join(other);
}
#endif

int main(void)
{
#ifdef SEEDED_RACE
    a_race();
#endif
    semaphores_hand_over();
    eventcounts_hand_over();
    sequencers_hand_over();
    cancellation_hands_over();
    conditions_hand_over();
    return 0;
}
