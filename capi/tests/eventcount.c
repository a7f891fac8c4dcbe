/* Eventcounts and sequencers. */
#include "check.h"

static layby_eventcount_t turn = LAYBY_EVENTCOUNT_INIT;
static layby_sequencer_t tickets = LAYBY_SEQUENCER_INIT;
static int in_turn;

enum { TURNS = 5000, THREADS = 4 };

static void *take_turns(void *unused)
{
    (void)unused;
    for (int i = 0; i < TURNS; i++) {
        uint64_t mine;
        CHECK_IS(layby_sequencer_tickets(&tickets, 1, &mine), 0);
        CHECK_IS(layby_eventcount_wait(&turn, mine), 0);
        CHECK_IS(in_turn++, mine);
        uint64_t now;
        CHECK_IS(layby_eventcount_advance(&turn, 1, &now), 0);
        CHECK_IS(now, mine + 1);
    }
    return NULL;
}

static void one_at_a_time_in_order(void)
{
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        threads[i] = check_start(take_turns, NULL);
    for (int i = 0; i < THREADS; i++)
        check_join(threads[i]);
    CHECK_IS(layby_eventcount_read(&turn), TURNS * THREADS);
}

static void bounds(void)
{
    layby_eventcount_t count = LAYBY_EVENTCOUNT_INIT;
    layby_sequencer_t source = LAYBY_SEQUENCER_INIT;
    uint64_t first = 7, now = 7;
    CHECK_IS(layby_eventcount_advance(&count, LAYBY_EVENTCOUNT_MAX, NULL), 0);
    CHECK_IS(layby_eventcount_advance(&count, 1, &now), EOVERFLOW);
    CHECK_IS(layby_eventcount_advance(&count, UINT64_MAX, &now), EOVERFLOW);
    CHECK_IS(layby_eventcount_advance(&count, 0, NULL), 0);
    CHECK_IS(layby_eventcount_read(&count), LAYBY_EVENTCOUNT_MAX);
    CHECK_IS(now, 7);
    CHECK_IS(layby_sequencer_tickets(&source, LAYBY_EVENTCOUNT_MAX + 1, &first), EOVERFLOW);
    CHECK_IS(layby_sequencer_tickets(&source, UINT64_MAX, &first), EOVERFLOW);
    CHECK_IS(first, 7);
    CHECK_IS(layby_sequencer_tickets(&source, LAYBY_EVENTCOUNT_MAX, &first), 0);
    CHECK_IS(first, 0);
    CHECK_IS(layby_sequencer_tickets(&source, 1, &first), EOVERFLOW);
}

static void *wait_until_closed(void *count)
{
    CHECK_IS(layby_eventcount_wait(count, 5), EPIPE);
    return NULL;
}

static void limits(void)
{
    layby_eventcount_t count = LAYBY_EVENTCOUNT_INIT;
    layby_cancel_t cancel = LAYBY_CANCEL_INIT;
    struct timespec soon = check_in(2), no_time = { 1, 1000000000 };
    CHECK_IS(layby_eventcount_wait_within(&count, 1, &soon, &cancel), ETIMEDOUT);
    CHECK(check_is_past(&soon));
    CHECK_IS(layby_eventcount_wait_within(&count, 1, &no_time, NULL), EINVAL);
    layby_cancel_raise(&cancel);
    CHECK_IS(layby_eventcount_wait_within(&count, 1, NULL, &cancel), ECANCELED);
    CHECK_IS(layby_eventcount_wait_within(&count, 0, NULL, &cancel), 0);
    pthread_t waiter = check_start(wait_until_closed, &count);
    CHECK_IS(layby_eventcount_advance(&count, 4, NULL), 0);
    layby_eventcount_close(&count);
    check_join(waiter);
    CHECK_IS(layby_eventcount_wait(&count, 5), EPIPE);
    CHECK_IS(layby_eventcount_wait(&count, 4), 0);
}

int main(void)
{
    one_at_a_time_in_order();
    bounds();
    limits();
    return 0;
}
