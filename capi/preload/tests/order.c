// In which order waiters are served; not a test, but a question. Prints the order in which they came, with their priorities, and
// that in which they went. POSIX: the highest priority first, and among equals whoever has waited longest.
#include "harness.h"

enum { WAITERS = 3 };
static sem_t sem;
static atomic_int served;

static void *take_one(struct thread *thread) {
    CHECK(sem_wait(&sem) == 0);
    atomic_store(&thread->result, atomic_fetch_add(&served, 1) + 1);
    return NULL;
}

static void ask(const char *who, const int priorities[WAITERS]) {
    struct thread waiters[WAITERS];
    CHECK(sem_init(&sem, 0, 0) == 0);
    atomic_store(&served, 0);
    for (int i = 0; i < WAITERS; i++) {
        start(&waiters[i], take_one, NULL);
        struct sched_param priority = {.sched_priority = priorities[i]};
        if (priorities[i] != 0 && pthread_setschedparam(waiters[i].id, SCHED_FIFO, &priority) != 0) {
            printf("%s: not permitted\n", who);
            exit(0);
        }
        until_asleep(&waiters[i]);
    }
    for (int i = 1; i <= WAITERS; i++) {
        CHECK(sem_post(&sem) == 0);
        while (atomic_load(&served) < i) sched_yield();
    }
    printf("%s:", who);
    for (int i = 0; i < WAITERS; i++) join(&waiters[i]), printf(" %d.", atomic_load(&waiters[i].result));
    printf("\n");
}

int main(void) {
    ask("equals", (int[]){0, 0, 0});
    ask("priorities 10 20 30", (int[]){10, 20, 30});
    return 0;
}
