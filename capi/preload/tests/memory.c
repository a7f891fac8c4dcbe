// Whoever has got a permit may destroy and free the semaphore at once, and another may be made in its place; with waits that
// give up, and with many threads.
#include "harness.h"

// A request is in memory of its own, which the requester unmaps as soon as it has the answer.
struct request {
    sem_t done;
    sem_t *unused;
};

static _Atomic(struct request *) request;
static atomic_bool is_over;

static void *answer(struct thread *thread) {
    long answered = 0;
    while (!atomic_load(&is_over)) {
        struct request *next = atomic_exchange(&request, NULL);
        if (next == NULL) {
            sched_yield();
            continue;
        }
        CHECK(sem_post(&next->done) == 0);
        answered++;
    }
    (void)thread;
    return (void *)answered;
}

static void the_waiter_unmaps_the_semaphore(void) {
    enum { ROUNDS = 2000 };
    struct thread server;
    start(&server, answer, NULL);
    for (int i = 0; i < ROUNDS; i++) {
        struct request *mine = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        CHECK(mine != MAP_FAILED && sem_init(&mine->done, 0, 0) == 0);
        atomic_store(&request, mine);
        CHECK(sem_wait(&mine->done) == 0);
        CHECK(sem_destroy(&mine->done) == 0 && munmap(mine, 4096) == 0);
    }
    atomic_store(&is_over, true);
    CHECK(join(&server) == (void *)(long)ROUNDS);
}

// The same place each time, and waits that give up: before the post, while it is under way, and on the next semaphore in this
// place, of which that post may still think that it is the one that it has posted to.
static void *give_up(struct thread *thread) {
    struct timespec past = {1, 0};
    CHECK_FAILS(sem_clockwait(thread->with, CLOCK_MONOTONIC, &past), ETIMEDOUT);
    return NULL;
}

static void the_place_is_used_again_by_waits_that_give_up(void) {
    enum { ROUNDS = 500, TRIES = 3 };
    struct thread server, impatient;
    start(&server, answer, NULL);
    for (int i = 0; i < ROUNDS; i++) {
        struct request *mine = mmap((void *)0x700000000000, 4096, PROT_READ | PROT_WRITE,
                                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        CHECK(mine != MAP_FAILED && sem_init(&mine->done, 0, 0) == 0);
        if (i % 8 == 0) start(&impatient, give_up, &mine->done), join(&impatient);
        atomic_store(&request, mine);
        struct timespec soon = in_ms(CLOCK_MONOTONIC, 0);
        int tries = 0;
        while (tries < TRIES && sem_clockwait(&mine->done, CLOCK_MONOTONIC, &soon) != 0) tries++;
        if (tries == TRIES) CHECK(sem_wait(&mine->done) == 0);
        CHECK(sem_destroy(&mine->done) == 0);
        // Another semaphore, used up at once, while the post may still be under way.
        CHECK(sem_init(&mine->done, 0, 0) == 0);
        CHECK_FAILS(sem_clockwait(&mine->done, CLOCK_MONOTONIC, &soon), ETIMEDOUT);
        CHECK(sem_post(&mine->done) == 0 && sem_wait(&mine->done) == 0 && value_of(&mine->done) == 0);
        CHECK(sem_destroy(&mine->done) == 0 && munmap(mine, 4096) == 0);
    }
    atomic_store(&is_over, true);
    CHECK(join(&server) == (void *)(long)ROUNDS);
}

// Many at once: every permit is somebody's or there.
static sem_t sem;
static atomic_int inside;

static void *come_and_go(struct thread *thread) {
    enum { ROUNDS = 1000 };
    for (int i = 0; i < ROUNDS; i++) {
        struct timespec soon = in_ms(CLOCK_MONOTONIC, i % 3 ? 1000 : 0);
        if (i % 5 == 0 ? sem_trywait(&sem) : sem_clockwait(&sem, CLOCK_MONOTONIC, &soon)) continue;
        int there = atomic_fetch_add(&inside, 1);
        CHECK(there < (long)thread->with);
        atomic_fetch_sub(&inside, 1);
        CHECK(sem_post(&sem) == 0);
    }
    return NULL;
}

static void no_permit_is_lost_or_made(void) {
    for (long permits = 1; permits <= 3; permits++) {
        struct thread threads[8];
        CHECK(sem_init(&sem, 0, permits) == 0);
        for (int i = 0; i < 8; i++) start(&threads[i], come_and_go, (void *)permits);
        for (int i = 0; i < 8; i++) join(&threads[i]);
        CHECK(value_of(&sem) == permits);
        CHECK(sem_destroy(&sem) == 0);
    }
}

// What was written before a post is seen after the wait that got it.
static long slot[16];
static sem_t room, items;

static void *produce(struct thread *thread) {
    for (long i = 1; i <= 50000; i++) {
        CHECK(sem_wait(&room) == 0);
        slot[i % 16] = i;
        CHECK(sem_post(&items) == 0);
    }
    return thread;
}

static void a_post_hands_over_what_was_written(void) {
    struct thread producer;
    CHECK(sem_init(&room, 0, 16) == 0 && sem_init(&items, 0, 0) == 0);
    start(&producer, produce, NULL);
    for (long i = 1; i <= 50000; i++) {
        CHECK(sem_wait(&items) == 0);
        CHECK(slot[i % 16] == i);
        CHECK(sem_post(&room) == 0);
    }
    join(&producer);
}

TESTS(TEST(the_waiter_unmaps_the_semaphore), TEST(the_place_is_used_again_by_waits_that_give_up),
      TEST(no_permit_is_lost_or_made), TEST(a_post_hands_over_what_was_written))
