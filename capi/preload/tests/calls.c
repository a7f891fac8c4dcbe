// What each call returns, alone and while others wait; times, signals, names, shared memory.
#include "harness.h"

static sem_t sem;

static void init_sets_the_value(void) {
    for (unsigned value = 0; value < 3; value++) {
        CHECK(sem_init(&sem, 0, value) == 0);
        CHECK(value_of(&sem) == (int)value);
        CHECK(sem_destroy(&sem) == 0);
    }
    CHECK(sem_init(&sem, 0, SEM_VALUE_MAX) == 0);
    CHECK(value_of(&sem) == SEM_VALUE_MAX);
}

static void init_refuses_too_large_a_value(void) {
    CHECK_FAILS(sem_init(&sem, 0, (unsigned)SEM_VALUE_MAX + 1), EINVAL);
    CHECK_FAILS(sem_init(&sem, 1, (unsigned)SEM_VALUE_MAX + 1), EINVAL);
}

static void semaphores_are_independent(void) {
    enum { MANY = 2000 };
    static sem_t many[MANY];
    for (int i = 0; i < MANY; i++) CHECK(sem_init(&many[i], 0, i % 3) == 0);
    for (int i = 0; i < MANY; i += 2) CHECK(sem_post(&many[i]) == 0);
    for (int i = 0; i < MANY; i++) CHECK(value_of(&many[i]) == i % 3 + (i % 2 == 0));
}

static void a_wait_takes_and_a_post_gives(void) {
    CHECK(sem_init(&sem, 0, 2) == 0);
    CHECK(sem_wait(&sem) == 0 && value_of(&sem) == 1);
    CHECK(sem_trywait(&sem) == 0 && value_of(&sem) == 0);
    CHECK_FAILS(sem_trywait(&sem), EAGAIN);
    CHECK(sem_post(&sem) == 0 && value_of(&sem) == 1);
    CHECK(sem_trywait(&sem) == 0);
}

static void a_post_beyond_the_largest_value_fails(void) {
    CHECK(sem_init(&sem, 0, SEM_VALUE_MAX - 1) == 0);
    CHECK(sem_post(&sem) == 0);
    CHECK_FAILS(sem_post(&sem), EOVERFLOW);
    CHECK(value_of(&sem) == SEM_VALUE_MAX);
    CHECK(sem_wait(&sem) == 0 && value_of(&sem) == SEM_VALUE_MAX - 1);
}

static sem_t start_together;

static void *post_many(struct thread *thread) {
    CHECK(sem_wait(&start_together) == 0);
    for (int i = 0; i < 1000; i++) {
        if (sem_post(thread->with) == 0) atomic_fetch_add(&thread->result, 1);
        else CHECK(errno == EOVERFLOW);
    }
    return NULL;
}

static void posts_at_the_same_time_stop_at_the_largest_value(void) {
    struct thread threads[4];
    int posted = 0;
    CHECK(sem_init(&sem, 0, SEM_VALUE_MAX - 2000) == 0 && sem_init(&start_together, 0, 0) == 0);
    for (int i = 0; i < 4; i++) start(&threads[i], post_many, &sem);
    for (int i = 0; i < 4; i++) CHECK(sem_post(&start_together) == 0);
    for (int i = 0; i < 4; i++) join(&threads[i]), posted += atomic_load(&threads[i].result);
    CHECK(posted == 2000 && value_of(&sem) == SEM_VALUE_MAX);
}

static void errno_is_left_alone_by_success(void) {
    CHECK(sem_init(&sem, 0, 1) == 0);
    errno = 1234;
    CHECK(sem_wait(&sem) == 0 && sem_post(&sem) == 0 && sem_trywait(&sem) == 0 && value_of(&sem) == 0);
    CHECK(errno == 1234);
}

static void *take_one(struct thread *thread) {
    CHECK(sem_wait(thread->with) == 0);
    return NULL;
}

static void a_wait_sleeps_until_a_post(void) {
    struct thread waiter;
    CHECK(sem_init(&sem, 0, 0) == 0);
    start(&waiter, take_one, &sem);
    until_asleep(&waiter);
    CHECK(value_of(&sem) == 0);
    CHECK(sem_post(&sem) == 0);
    join(&waiter);
    CHECK(value_of(&sem) == 0);
}

static void each_post_lets_one_go(void) {
    enum { MANY = 20 };
    struct thread waiters[MANY];
    CHECK(sem_init(&sem, 0, 0) == 0);
    for (int i = 0; i < MANY; i++) start(&waiters[i], take_one, &sem);
    for (int i = 0; i < MANY; i++) until_asleep(&waiters[i]);
    for (int i = 0; i < MANY; i++) CHECK(sem_post(&sem) == 0);
    for (int i = 0; i < MANY; i++) join(&waiters[i]);
    CHECK(value_of(&sem) == 0);
}

static void memory_full_of_zeros_is_a_semaphore(void) {
    static sem_t zeros;
    struct thread waiter;
    CHECK(value_of(&zeros) == 0);
    CHECK_FAILS(sem_trywait(&zeros), EAGAIN);
    start(&waiter, take_one, &zeros);
    until_asleep(&waiter);
    CHECK(sem_post(&zeros) == 0);
    join(&waiter);
}

// Times.

static const clockid_t clocks[] = {CLOCK_REALTIME, CLOCK_MONOTONIC};

static int wait_until(clockid_t clock, struct timespec at) {
    return clock == CLOCK_REALTIME ? sem_timedwait(&sem, &at) : sem_clockwait(&sem, clock, &at);
}

static void a_timed_wait_is_not_early(void) {
    CHECK(sem_init(&sem, 0, 0) == 0);
    for (int i = 0; i < 2; i++) {
        struct timespec at = in_ms(clocks[i], 30);
        CHECK_FAILS(wait_until(clocks[i], at), ETIMEDOUT);
        CHECK(is_past(clocks[i], at));
        CHECK_FAILS(sem_clockwait(&sem, clocks[i], &at), ETIMEDOUT);
    }
    CHECK(value_of(&sem) == 0);
}

static void a_timed_wait_takes_what_is_there_though_it_is_late(void) {
    struct timespec long_ago = {0, 0}, before_that = {-1, 0};
    for (int i = 0; i < 2; i++) {
        CHECK(sem_init(&sem, 0, 2) == 0);
        CHECK(wait_until(clocks[i], long_ago) == 0 && wait_until(clocks[i], before_that) == 0);
        CHECK_FAILS(wait_until(clocks[i], long_ago), ETIMEDOUT);
        CHECK_FAILS(wait_until(clocks[i], before_that), ETIMEDOUT);
    }
}

static void a_time_or_a_clock_that_is_none_is_refused(void) {
    CHECK(sem_init(&sem, 0, 0) == 0);
    struct timespec at = in_ms(CLOCK_REALTIME, 1000);
    for (int i = 0; i < 2; i++) {
        CHECK_FAILS(wait_until(clocks[i], (struct timespec){at.tv_sec, -1}), EINVAL);
        CHECK_FAILS(wait_until(clocks[i], (struct timespec){at.tv_sec, 1000000000}), EINVAL);
    }
    CHECK_FAILS(sem_clockwait(&sem, CLOCK_PROCESS_CPUTIME_ID, &at), EINVAL);
    CHECK_FAILS(sem_clockwait(&sem, 4711, &at), EINVAL);
}

static void *take_in_time(struct thread *thread) {
    struct timespec at = in_ms(CLOCK_REALTIME, 20000), far = {INT64_MAX, 999999999};
    CHECK(sem_timedwait(thread->with, &at) == 0);
    CHECK(sem_clockwait(thread->with, CLOCK_MONOTONIC, &far) == 0);
    return NULL;
}

static void a_post_ends_a_timed_wait(void) {
    struct thread waiter;
    CHECK(sem_init(&sem, 0, 0) == 0);
    start(&waiter, take_in_time, &sem);
    until_asleep(&waiter);
    CHECK(sem_post(&sem) == 0);
    while (value_of(&sem) != 0) sched_yield();
    CHECK(sem_post(&sem) == 0);
    join(&waiter);
}

static void *give_up(struct thread *thread) {
    struct timespec at = in_ms(CLOCK_MONOTONIC, 20);
    CHECK_FAILS(sem_clockwait(thread->with, CLOCK_MONOTONIC, &at), ETIMEDOUT);
    return NULL;
}

static void who_gives_up_holds_up_nobody_and_loses_nothing(void) {
    struct thread impatient[3], patient[3];
    CHECK(sem_init(&sem, 0, 0) == 0);
    for (int i = 0; i < 3; i++) {
        start(&impatient[i], give_up, &sem);
        start(&patient[i], take_one, &sem);
    }
    for (int i = 0; i < 3; i++) join(&impatient[i]);
    for (int i = 0; i < 4; i++) CHECK(sem_post(&sem) == 0);
    for (int i = 0; i < 3; i++) join(&patient[i]);
    CHECK(value_of(&sem) == 1);
}

// Signals.

static atomic_int handled;

static void count_signal(int signal) {
    (void)signal;
    atomic_fetch_add(&handled, 1);
}

static void handle(int signal, int flags, void (*handler)(int)) {
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
    CHECK(sigaction(signal, &action, NULL) == 0);
}

static void *be_interrupted(struct thread *thread) {
    CHECK_FAILS(sem_wait(thread->with), EINTR);
    atomic_store(&thread->result, 1);
    struct timespec at = in_ms(CLOCK_REALTIME, 20000);
    CHECK_FAILS(sem_timedwait(thread->with, &at), EINTR);
    return NULL;
}

static void a_handler_ends_the_wait(void) {
    struct thread waiter;
    CHECK(sem_init(&sem, 0, 0) == 0);
    handle(SIGUSR1, 0, count_signal);
    start(&waiter, be_interrupted, &sem);
    until_asleep(&waiter);
    CHECK(pthread_kill(waiter.id, SIGUSR1) == 0);
    while (!atomic_load(&waiter.result)) sched_yield();
    until_asleep(&waiter);
    CHECK(pthread_kill(waiter.id, SIGUSR1) == 0);
    join(&waiter);
    CHECK(atomic_load(&handled) == 2);
    CHECK(value_of(&sem) == 0 && sem_post(&sem) == 0 && value_of(&sem) == 1);
}

static void a_handler_with_restart_does_not(void) {
    struct thread waiter;
    CHECK(sem_init(&sem, 0, 0) == 0);
    handle(SIGUSR1, SA_RESTART, count_signal);
    start(&waiter, take_one, &sem);
    for (int i = 1; i <= 10; i++) {
        until_asleep(&waiter);
        CHECK(pthread_kill(waiter.id, SIGUSR1) == 0);
        while (atomic_load(&handled) != i) sched_yield();
    }
    CHECK(sem_post(&sem) == 0);
    join(&waiter);
}

static void a_stop_and_a_continuation_do_not(void) {
    struct thread waiter;
    CHECK(sem_init(&sem, 0, 0) == 0);
    start(&waiter, take_one, &sem);
    until_asleep(&waiter);
    pid_t child = fork(), parent = getppid();
    if (child == 0) {
        int status = kill(parent, SIGSTOP) || kill(parent, SIGCONT);
        _exit(status);
    }
    CHECK(waitpid(child, NULL, 0) == child);
    until_asleep(&waiter);
    CHECK(sem_post(&sem) == 0);
    join(&waiter);
}

static void post_one(int signal) {
    (void)signal;
    int before = errno;
    if (sem_post(&sem) != 0) _exit(1);
    errno = before;
}

static void a_handler_may_post_what_its_own_thread_waits_for(void) {
    CHECK(sem_init(&sem, 0, 0) == 0);
    handle(SIGALRM, 0, post_one);
    struct timespec soon = {0, 20000000};
    struct itimerspec once = {.it_value = soon};
    timer_t timer;
    CHECK(timer_create(CLOCK_MONOTONIC, NULL, &timer) == 0 && timer_settime(timer, 0, &once, NULL) == 0);
    // It has the permit, or was interrupted and the permit is there.
    if (sem_wait(&sem) != 0) CHECK(errno == EINTR && sem_wait(&sem) == 0);
    CHECK(value_of(&sem) == 0);
}

// What is left to the C library.

static void a_semaphore_with_a_name(void) {
    char name[64];
    snprintf(name, sizeof name, "/layby-preload-%d", (int)getpid());
    sem_t *named = sem_open(name, O_CREAT | O_EXCL, 0600, 0);
    if (named == SEM_FAILED) exit(NOT_HERE);
    CHECK(sem_unlink(name) == 0);
    pid_t child = fork();
    if (child == 0) _exit(sem_post(named) != 0);
    CHECK(sem_wait(named) == 0);
    CHECK(waitpid(child, NULL, 0) == child);
    CHECK_FAILS(sem_trywait(named), EAGAIN);
    CHECK(value_of(named) == 0 && sem_close(named) == 0);
}

static void a_semaphore_shared_by_processes(void) {
    sem_t *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(shared != MAP_FAILED);
    // In a place where there has been one of the process's own.
    CHECK(sem_init(&shared[0], 0, 5) == 0 && sem_init(&shared[0], 1, 0) == 0 && sem_init(&shared[1], 1, 0) == 0);
    pid_t child = fork();
    if (child == 0) _exit(sem_wait(&shared[0]) != 0 || sem_post(&shared[1]) != 0);
    CHECK(sem_post(&shared[0]) == 0 && sem_wait(&shared[1]) == 0);
    int status;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
}

TESTS(TEST(init_sets_the_value), TEST(init_refuses_too_large_a_value), TEST(semaphores_are_independent),
      TEST(a_wait_takes_and_a_post_gives), TEST(a_post_beyond_the_largest_value_fails),
      TEST(posts_at_the_same_time_stop_at_the_largest_value),
      TEST(errno_is_left_alone_by_success), TEST(a_wait_sleeps_until_a_post), TEST(each_post_lets_one_go),
      TEST(memory_full_of_zeros_is_a_semaphore), TEST(a_timed_wait_is_not_early),
      TEST(a_timed_wait_takes_what_is_there_though_it_is_late), TEST(a_time_or_a_clock_that_is_none_is_refused),
      TEST(a_post_ends_a_timed_wait), TEST(who_gives_up_holds_up_nobody_and_loses_nothing),
      TEST(a_handler_ends_the_wait), TEST(a_handler_with_restart_does_not), TEST(a_stop_and_a_continuation_do_not),
      TEST(a_handler_may_post_what_its_own_thread_waits_for), TEST(a_semaphore_with_a_name),
      TEST(a_semaphore_shared_by_processes))
