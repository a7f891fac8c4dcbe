/* Wait and wake on an address; conditions that take, wait and wake. */
#include "check.h"

#include <stdatomic.h>

static atomic_int level;

static int reached_three(void *unused)
{
    (void)unused;
    return atomic_load_explicit(&level, memory_order_acquire) >= 3;
}

static void *wait_for_three(void *unused)
{
    (void)unused;
    CHECK_IS(layby_wait_until(&level, reached_three, NULL), 0);
    CHECK(atomic_load(&level) >= 3);
    return NULL;
}

static void all_go_on_when_it_holds(void)
{
    pthread_t threads[3];
    for (int i = 0; i < 3; i++)
        threads[i] = check_start(wait_for_three, NULL);
    for (int i = 0; i < 3; i++) {
        atomic_fetch_add_explicit(&level, 1, memory_order_release);
        layby_wake_all(&level);
    }
    for (int i = 0; i < 3; i++)
        check_join(threads[i]);
    CHECK_IS(layby_wake_all(&level), 0);
    CHECK_IS(layby_wake_one(&level), 0);
}

static int never(void *calls)
{
    ++*(int *)calls;
    return 0;
}

static int always(void *unused)
{
    (void)unused;
    return 1;
}

static void limits(void)
{
    int calls = 0, x = 0;
    struct timespec soon = check_in(2), no_time = { 0, -5 };
    layby_cancel_t cancel = LAYBY_CANCEL_INIT;
    CHECK_IS(layby_wait_until_within(&x, never, &calls, &soon, &cancel), ETIMEDOUT);
    CHECK(check_is_past(&soon) && calls > 0);
    soon = check_in(2);
    while (layby_wait_if(&x, always, NULL, &soon, NULL) == 0) {
    }
    CHECK(check_is_past(&soon));
    layby_cancel_raise(&cancel);
    CHECK_IS(layby_wait_until_within(&x, never, &calls, NULL, &cancel), ECANCELED);
    CHECK_IS(layby_wait_if(&x, always, NULL, NULL, &cancel), ECANCELED);
    CHECK_IS(layby_wait_until_within(&x, always, NULL, NULL, &cancel), 0);
    CHECK_IS(layby_wait_if(&x, never, &calls, NULL, NULL), 0);
    CHECK_IS(layby_wait_until(&x, NULL, NULL), EINVAL);
    CHECK_IS(layby_wait_until_within(&x, NULL, NULL, NULL, NULL), EINVAL);
    CHECK_IS(layby_wait_if(&x, NULL, NULL, NULL, NULL), EINVAL);
    CHECK_IS(layby_wait_until_within(&x, never, &calls, &no_time, NULL), EINVAL);
}

/* Tokens that are handed out one by one. */
static atomic_int tokens;

static int take_token(void *unused)
{
    (void)unused;
    int seen = atomic_load(&tokens);
    while (seen > 0)
        if (atomic_compare_exchange_weak(&tokens, &seen, seen - 1))
            return 1;
    return 0;
}

static int no_tokens(void *unused)
{
    (void)unused;
    return atomic_load(&tokens) == 0;
}

enum { TOKENS = 20000 };

static void *take_tokens(void *in_a_condition)
{
    for (int i = 0; i < TOKENS; i++) {
        if (in_a_condition) {
            CHECK_IS(layby_wait_until(&tokens, take_token, NULL), 0);
        } else {
            while (!take_token(NULL))
                CHECK_IS(layby_wait_if(&tokens, no_tokens, NULL, NULL, NULL), 0);
        }
    }
    return NULL;
}

static void one_token_one_thread(void)
{
    int yes = 1;
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        threads[i] = check_start(take_tokens, i < 2 ? &yes : NULL);
    for (int i = 0; i < 4 * TOKENS; i++) {
        atomic_fetch_add(&tokens, 1);
        layby_wake_one(&tokens);
    }
    for (int i = 0; i < 4; i++)
        check_join(threads[i]);
    CHECK_IS(atomic_load(&tokens), 0);
}

static int waits_itself(void *semaphore)
{
    struct timespec soon = check_in(1);
    CHECK_IS(layby_semaphore_timedwait(semaphore, &soon), ETIMEDOUT);
    layby_wake_all(&level);
    layby_semaphore_post(semaphore);
    layby_semaphore_wait(semaphore);
    return 1;
}

static void a_condition_may_wait(void)
{
    layby_semaphore_t s = LAYBY_SEMAPHORE_INIT(0);
    CHECK_IS(layby_wait_until(&level, waits_itself, &s), 0);
}

int main(void)
{
    all_go_on_when_it_holds();
    limits();
    one_token_one_thread();
    a_condition_may_wait();
    return 0;
}
