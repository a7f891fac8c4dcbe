// Cancelled threads: they unwind, leave the line, and take nothing with them.
#include "harness.h"

static sem_t sem;
static atomic_int unwound;

static void count_unwound(void *count) { atomic_fetch_add((atomic_int *)count, 1); }

static void *take_one(struct thread *thread) {
    pthread_cleanup_push(count_unwound, &unwound);
    CHECK(sem_wait(thread->with) == 0);
    pthread_cleanup_pop(0);
    return NULL;
}

static void *take_one_in_time(struct thread *thread) {
    struct timespec at = in_ms(CLOCK_MONOTONIC, 20000);
    pthread_cleanup_push(count_unwound, &unwound);
    CHECK(sem_clockwait(thread->with, CLOCK_MONOTONIC, &at) == 0);
    pthread_cleanup_pop(0);
    return NULL;
}

static void a_sleeper_is_cancelled(void) {
    void *(*const ways[])(struct thread *) = {take_one, take_one_in_time};
    for (int i = 0; i < 2; i++) {
        struct thread waiter;
        CHECK(sem_init(&sem, 0, 0) == 0);
        start(&waiter, ways[i], &sem);
        until_asleep(&waiter);
        CHECK(pthread_cancel(waiter.id) == 0);
        CHECK(join(&waiter) == PTHREAD_CANCELED);
        CHECK(atomic_load(&unwound) == i + 1);
        CHECK(sem_post(&sem) == 0 && value_of(&sem) == 1);
    }
}

static void who_is_cancelled_leaves_the_line(void) {
    struct thread waiters[5];
    CHECK(sem_init(&sem, 0, 0) == 0);
    for (int i = 0; i < 5; i++) {
        start(&waiters[i], take_one, &sem);
        until_asleep(&waiters[i]);
    }
    for (int i = 0; i < 5; i += 2) {
        CHECK(pthread_cancel(waiters[i].id) == 0);
        CHECK(join(&waiters[i]) == PTHREAD_CANCELED);
    }
    for (int i = 0; i < 3; i++) CHECK(sem_post(&sem) == 0);
    CHECK(join(&waiters[1]) == NULL && join(&waiters[3]) == NULL);
    CHECK(value_of(&sem) == 1);
}

static void *be_cancelled_before(struct thread *thread) {
    CHECK(pthread_cancel(pthread_self()) == 0);
    CHECK(sem_wait(thread->with) == 0);
    CHECK(!"it is a cancellation point, whether or not it has to wait");
    return NULL;
}

static void a_permit_that_is_there_does_not_keep_it_from_being_cancelled(void) {
    struct thread waiter;
    CHECK(sem_init(&sem, 0, 1) == 0);
    start(&waiter, be_cancelled_before, &sem);
    CHECK(join(&waiter) == PTHREAD_CANCELED);
    CHECK(value_of(&sem) == 1);
}

static void *not_now(struct thread *thread) {
    int before;
    CHECK(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before) == 0);
    CHECK(sem_wait(thread->with) == 0);
    atomic_store(&thread->result, 1);
    CHECK(pthread_setcancelstate(before, NULL) == 0);
    pthread_testcancel();
    return NULL;
}

static void a_thread_that_cannot_be_cancelled_now_waits_on(void) {
    struct thread waiter;
    CHECK(sem_init(&sem, 0, 0) == 0);
    start(&waiter, not_now, &sem);
    until_asleep(&waiter);
    CHECK(pthread_cancel(waiter.id) == 0);
    until_asleep(&waiter);
    CHECK(atomic_load(&waiter.result) == 0);
    CHECK(sem_post(&sem) == 0);
    CHECK(join(&waiter) == PTHREAD_CANCELED && atomic_load(&waiter.result) == 1);
}

static void *at_any_time(struct thread *thread) {
    pthread_cleanup_push(count_unwound, &unwound);
    CHECK(pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL) == 0);
    CHECK(sem_wait(thread->with) == 0);
    pthread_cleanup_pop(0);
    return NULL;
}

static void an_asynchronous_cancellation(void) {
    struct thread waiters[2];
    CHECK(sem_init(&sem, 0, 0) == 0);
    start(&waiters[0], at_any_time, &sem), until_asleep(&waiters[0]);
    start(&waiters[1], take_one, &sem), until_asleep(&waiters[1]);
    CHECK(pthread_cancel(waiters[0].id) == 0);
    CHECK(join(&waiters[0]) == PTHREAD_CANCELED && atomic_load(&unwound) == 1);
    CHECK(sem_post(&sem) == 0);
    CHECK(join(&waiters[1]) == NULL && value_of(&sem) == 0);
}

// A post at the same time: the waiter has it, or it is there in the end.
static void cancellations_against_posts(void) {
    enum { ROUNDS = 1000 };
    for (int round = 0; round < ROUNDS; round++) {
        struct thread waiter;
        CHECK(sem_init(&sem, 0, 0) == 0);
        start(&waiter, take_one, &sem);
        if (round % 4 < 2) until_asleep(&waiter);
        if (round % 2 == 0) CHECK(sem_post(&sem) == 0);
        CHECK(pthread_cancel(waiter.id) == 0);
        if (round % 2 == 1) CHECK(sem_post(&sem) == 0);
        CHECK((join(&waiter) == NULL) + value_of(&sem) == 1);
    }
}

static void unwind_the_caller_too(struct thread *thread) {
    __attribute__((cleanup(count_unwound))) atomic_int local = 0;
    CHECK(sem_wait(thread->with) == 0);
    atomic_fetch_add(&unwound, atomic_load(&local));
}

static void count_both(struct thread *thread) {
    atomic_fetch_add(&unwound, 1);
    (void)thread;
}

static void *with_a_destructor(struct thread *thread) {
    __attribute__((cleanup(count_both))) struct thread unused;
    unwind_the_caller_too(thread);
    return NULL;
}

static void destructors_of_the_callers_run(void) {
    struct thread waiter;
    CHECK(sem_init(&sem, 0, 0) == 0);
    start(&waiter, with_a_destructor, &sem);
    until_asleep(&waiter);
    CHECK(pthread_cancel(waiter.id) == 0);
    CHECK(join(&waiter) == PTHREAD_CANCELED && atomic_load(&unwound) == 1);
}

TESTS(TEST(a_sleeper_is_cancelled), TEST(who_is_cancelled_leaves_the_line),
      TEST(a_permit_that_is_there_does_not_keep_it_from_being_cancelled),
      TEST(a_thread_that_cannot_be_cancelled_now_waits_on), TEST(an_asynchronous_cancellation),
      TEST(cancellations_against_posts), TEST(destructors_of_the_callers_run))
