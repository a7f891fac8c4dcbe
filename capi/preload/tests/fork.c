// The child of a fork has its semaphores' values, and none of those who waited for them.
#include "harness.h"

static sem_t sem;
static atomic_bool is_over;

static void *take_one(struct thread *thread) {
    CHECK(sem_wait(thread->with) == 0);
    return NULL;
}

static void *take_and_give(struct thread *thread) {
    CHECK(sem_wait(thread->with) == 0 && sem_post(thread->with) == 0);
    return NULL;
}

static int in_time(void) {
    struct timespec at = in_ms(CLOCK_MONOTONIC, 10000);
    return sem_clockwait(&sem, CLOCK_MONOTONIC, &at);
}

static void in_a_child(void (*run)(void)) {
    int status = run_in_child(run);
    if (status < 0) printf("    the child: signal %d\n", -status), fflush(stdout);
    CHECK(status == 0);
}

static void give_back_and_take_again(void) {
    CHECK(value_of(&sem) == 0);
    CHECK_FAILS(sem_trywait(&sem), EAGAIN);
    for (int i = 0; i < 3; i++) {
        CHECK(sem_post(&sem) == 0 && value_of(&sem) == 1);
        CHECK(in_time() == 0 && value_of(&sem) == 0);
    }
    CHECK(sem_post(&sem) == 0 && sem_trywait(&sem) == 0);
}

static void *give_back_and_take_again_in_a_thread(struct thread *thread) {
    (void)thread;
    give_back_and_take_again();
    return NULL;
}

static void the_same_in_another_thread(void) {
    struct thread thread;
    start(&thread, give_back_and_take_again_in_a_thread, NULL);
    join(&thread);
}

static void the_same_after_a_wait_elsewhere(void) {
    sem_t other;
    struct timespec at = in_ms(CLOCK_MONOTONIC, 5);
    CHECK(sem_init(&other, 0, 0) == 0);
    CHECK_FAILS(sem_clockwait(&other, CLOCK_MONOTONIC, &at), ETIMEDOUT);
    give_back_and_take_again();
}

static void and_in_its_child(void) {
    in_a_child(give_back_and_take_again);
    give_back_and_take_again();
}

static void four_threads(void) {
    struct thread threads[4];
    for (int i = 0; i < 4; i++) start(&threads[i], take_and_give, &sem);
    CHECK(sem_post(&sem) == 0);
    for (int i = 0; i < 4; i++) join(&threads[i]);
    CHECK(value_of(&sem) == 1);
}

static void with_waiters(int count) {
    enum { MOST = 8 };
    void (*const children[])(void) = {give_back_and_take_again, the_same_in_another_thread, the_same_after_a_wait_elsewhere,
                                      and_in_its_child, four_threads};
    struct thread waiters[MOST];
    CHECK(sem_init(&sem, 0, 1) == 0 && sem_wait(&sem) == 0);
    for (int i = 0; i < count; i++) start(&waiters[i], take_one, &sem), until_asleep(&waiters[i]);
    for (size_t i = 0; i < sizeof children / sizeof *children; i++) in_a_child(children[i]);
    for (int i = 0; i < count; i++) CHECK(sem_post(&sem) == 0);
    for (int i = 0; i < count; i++) join(&waiters[i]);
    CHECK(value_of(&sem) == 0);
}

static void a_child_takes_again_what_it_gives_back(void) { with_waiters(0); }
static void though_the_parent_has_a_waiter(void) { with_waiters(1); }
static void though_the_parent_has_many(void) { with_waiters(8); }

static void *come_and_go(struct thread *thread) {
    while (!atomic_load(&is_over)) {
        struct timespec past = in_ms(CLOCK_MONOTONIC, 0);
        if (sem_clockwait(thread->with, CLOCK_MONOTONIC, &past) == 0) CHECK(sem_post(thread->with) == 0);
        sched_yield();
    }
    return NULL;
}

// It holds the permit, so that whatever the others do just now, the child can take it back.
static void whatever_the_others_are_doing(void) {
    struct thread others[3];
    CHECK(sem_init(&sem, 0, 1) == 0);
    for (int i = 0; i < 3; i++) start(&others[i], come_and_go, &sem);
    for (int i = 0; i < 100; i++) {
        while (sem_wait(&sem) != 0) {}
        in_a_child(give_back_and_take_again);
        CHECK(sem_post(&sem) == 0);
    }
    atomic_store(&is_over, true);
    for (int i = 0; i < 3; i++) join(&others[i]);
    CHECK(value_of(&sem) == 1);
}

static atomic_int forks;

static void fork_in_a_handler(int signal) {
    (void)signal;
    pid_t child = fork();
    if (child == 0) _exit(0);
    if (child > 0 && waitpid(child, NULL, 0) == child) atomic_fetch_add(&forks, 1);
}

static void *wait_uncancelled(struct thread *thread) {
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    while (sem_wait(thread->with) != 0) {}
    return NULL;
}

// Which threads wait is looked up to cancel one, and when a process forks.
static void a_handler_may_fork_in_a_cancellation(void) {
    enum { WAITERS = 20, FORKS = 200 };
    struct thread waiters[WAITERS];
    sigset_t prods;
    sigemptyset(&prods);
    sigaddset(&prods, SIGPROF);
    CHECK(sem_init(&sem, 0, 0) == 0);
    CHECK(pthread_sigmask(SIG_BLOCK, &prods, NULL) == 0);
    for (int i = 0; i < WAITERS; i++) start(&waiters[i], wait_uncancelled, &sem);
    CHECK(pthread_sigmask(SIG_UNBLOCK, &prods, NULL) == 0);
    struct sigaction action = {.sa_handler = fork_in_a_handler, .sa_flags = SA_RESTART};
    CHECK(sigaction(SIGPROF, &action, NULL) == 0);
    struct itimerval often = {{0, 1000}, {0, 1000}}, never = {{0, 0}, {0, 0}};
    CHECK(setitimer(ITIMER_PROF, &often, NULL) == 0);
    for (int i = 0; atomic_load(&forks) < FORKS; i++) CHECK(pthread_cancel(waiters[i % WAITERS].id) == 0);
    CHECK(setitimer(ITIMER_PROF, &never, NULL) == 0);
    for (int i = 0; i < WAITERS; i++) CHECK(sem_post(&sem) == 0);
    for (int i = 0; i < WAITERS; i++) join(&waiters[i]);
}

TESTS(TEST(a_child_takes_again_what_it_gives_back), TEST(though_the_parent_has_a_waiter), TEST(though_the_parent_has_many),
      TEST(whatever_the_others_are_doing), TEST(a_handler_may_fork_in_a_cancellation))
