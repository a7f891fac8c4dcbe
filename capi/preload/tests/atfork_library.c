/* A library whose lock is consistent in the child of a fork, as malloc's is: taken before, given back after it in both. Its handlers are
   registered before its semaphore is made, and both before the constructors of a library that is preloaded. */
#include <pthread.h>
#include <semaphore.h>

static sem_t lock;

static void before_fork(void) {
    while (sem_wait(&lock)) {
    }
}

static void after_fork(void) { sem_post(&lock); }

__attribute__((constructor)) static void at_load(void) {
    pthread_atfork(before_fork, after_fork, after_fork);
    sem_init(&lock, 0, 1);
}

void use_library(void) {
    before_fork();
    after_fork();
}

int use_library_in_time(const struct timespec *deadline) {
    if (sem_timedwait(&lock, deadline)) return 0;
    after_fork();
    return 1;
}
