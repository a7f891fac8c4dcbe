/* A ring between several producers and one consumer, without a lock: the sequencer says whose entry is whose, one eventcount
 * how far the producers have come, another how far the consumer has. Nobody polls. */
#include <layby.h>

#include <pthread.h>
#include <stdio.h>

enum { SIZE = 64, PRODUCERS = 3, EACH = 10000 };

static uint64_t ring[SIZE];
static layby_sequencer_t tickets = LAYBY_SEQUENCER_INIT;
static layby_eventcount_t written = LAYBY_EVENTCOUNT_INIT, taken = LAYBY_EVENTCOUNT_INIT;

static void *produce(void *unused)
{
    (void)unused;
    for (uint64_t i = 0; i < EACH; i++) {
        uint64_t mine;
        if (layby_sequencer_tickets(&tickets, 1, &mine) != 0)
            return "no tickets left";
        /* There is room when the entry of the round before has been taken. */
        if (mine >= SIZE && layby_eventcount_wait(&taken, mine - SIZE + 1) != 0)
            return "closed";
        ring[mine % SIZE] = i;
        /* In the order of the tickets, so that the count says which entries are there. */
        if (layby_eventcount_wait(&written, mine) != 0 || layby_eventcount_advance(&written, 1, NULL) != 0)
            return "closed";
    }
    return NULL;
}

int main(void)
{
    pthread_t producers[PRODUCERS];
    for (int i = 0; i < PRODUCERS; i++)
        pthread_create(&producers[i], NULL, produce, NULL);
    uint64_t sum = 0;
    for (uint64_t i = 0; i < PRODUCERS * EACH; i++) {
        if (layby_eventcount_wait(&written, i + 1) != 0)
            return 1;
        sum += ring[i % SIZE];
        layby_eventcount_advance(&taken, 1, NULL);
    }
    for (int i = 0; i < PRODUCERS; i++) {
        void *wrong;
        pthread_join(producers[i], &wrong);
        if (wrong)
            return 1;
    }
    printf("the sum is %llu\n", (unsigned long long)sum);
    return sum == (uint64_t)PRODUCERS * EACH * (EACH - 1) / 2 ? 0 : 1;
}
