// sem_t in C: nanoseconds of wall clock and of CPU for each operation, one game a line.
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

enum { MOST_THREADS = 16 };

static sem_t sems[2];
static long rounds;

static void *uncontended(void *argument) {
    for (long i = 0; i < rounds; i++) sem_wait(&sems[0]), sem_post(&sems[0]);
    return argument;
}

// Two threads hand over to each other, by two semaphores.
static void *ping_pong(void *argument) {
    long me = (long)argument;
    for (long i = 0; i < rounds; i++) sem_wait(&sems[me]), sem_post(&sems[1 - me]);
    return NULL;
}

// A semaphore as a lock: a little work inside, and outside.
static void work(int units) {
    for (volatile int i = 0; i < units; i++) {}
}

static void *lock(void *argument) {
    for (long i = 0; i < rounds; i++) {
        sem_wait(&sems[0]);
        work(50);
        sem_post(&sems[0]);
        work(50);
    }
    return argument;
}

// A producer and a consumer with room for 16.
static void *bounded_buffer(void *argument) {
    long me = (long)argument;
    for (long i = 0; i < rounds; i++) sem_wait(&sems[me]), sem_post(&sems[1 - me]);
    return NULL;
}

static double clock_of(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec * 1e9 + now.tv_nsec;
}

static void measure(const char *name, void *(*play)(void *), long threads, unsigned first, unsigned second, long all) {
    pthread_t ids[MOST_THREADS];
    rounds = all / threads;
    sem_init(&sems[0], 0, first), sem_init(&sems[1], 0, second);
    double wall = clock_of(CLOCK_MONOTONIC), cpu = clock_of(CLOCK_PROCESS_CPUTIME_ID);
    for (long i = 0; i < threads; i++)
        if (pthread_create(&ids[i], NULL, play, (void *)i)) abort();
    for (long i = 0; i < threads; i++) pthread_join(ids[i], NULL);
    wall = clock_of(CLOCK_MONOTONIC) - wall, cpu = clock_of(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    printf("%s %.1f %.1f\n", name, wall / (rounds * threads), cpu / (rounds * threads));
    fflush(stdout);
}

int main(void) {
    measure("uncontended", uncontended, 1, 1, 0, 20000000);
    measure("ping_pong", ping_pong, 2, 1, 0, 100000);
    measure("lock_of_2", lock, 2, 1, 0, 100000);
    measure("lock_of_4", lock, 4, 1, 0, 100000);
    measure("lock_of_16", lock, 16, 1, 0, 100000);
    measure("bounded_buffer", bounded_buffer, 2, 16, 0, 200000);
    return 0;
}
