/* What layby.h includes in a program that is compiled with -fsanitize=thread: each function that hands something over, with a word to
 * ThreadSanitizer, which does not see into the library. Nothing here is for use by name.
 *
 * Before a post, all that this thread has done belongs to the semaphore; after a wait, all that belongs to it is known here. That is
 * what ThreadSanitizer itself says of sem_t. As there, it takes a wait for one that has seen every earlier post, not only its
 * own, and may miss a race for that. What a condition reads is the program's own, and needs no word.
 */
#ifndef LAYBY_TSAN_H
#define LAYBY_TSAN_H

#include <errno.h>

void __tsan_acquire(void *);
void __tsan_release(void *);

static inline void layby_tsan_got(const void *object)
{
    __tsan_acquire((void *)(uintptr_t)object);
}

static inline void layby_tsan_gives(const void *object)
{
    __tsan_release((void *)(uintptr_t)object);
}

static inline int layby_tsan_end(int result, const void *object, const layby_cancel_t *cancel)
{
    if ((result == 0 || result == EPIPE) && object)
        layby_tsan_got(object);
    else if (result == ECANCELED)
        layby_tsan_got(cancel);
    return result;
}

static inline void layby_tsan_cancel_raise(layby_cancel_t *cancel)
{
    layby_tsan_gives(cancel);
    layby_cancel_raise(cancel);
}

static inline int layby_tsan_cancel_is_raised(const layby_cancel_t *cancel)
{
    int raised = layby_cancel_is_raised(cancel);
    if (raised)
        layby_tsan_got(cancel);
    return raised;
}

static inline int layby_tsan_cancel_reset(layby_cancel_t *cancel)
{
    int raised = layby_cancel_reset(cancel);
    if (raised)
        layby_tsan_got(cancel);
    return raised;
}

static inline void layby_tsan_semaphore_wait(layby_semaphore_t *semaphore)
{
    layby_semaphore_wait(semaphore);
    layby_tsan_got(semaphore);
}

static inline int layby_tsan_semaphore_trywait(layby_semaphore_t *semaphore)
{
    return layby_tsan_end(layby_semaphore_trywait(semaphore), semaphore, NULL);
}

static inline int layby_tsan_semaphore_timedwait(layby_semaphore_t *semaphore, const struct timespec *deadline)
{
    return layby_tsan_end(layby_semaphore_timedwait(semaphore, deadline), semaphore, NULL);
}

static inline int layby_tsan_semaphore_wait_many(layby_semaphore_t *semaphore, uint64_t permits)
{
    return layby_tsan_end(layby_semaphore_wait_many(semaphore, permits), semaphore, NULL);
}

static inline int layby_tsan_semaphore_trywait_many(layby_semaphore_t *semaphore, uint64_t permits)
{
    return layby_tsan_end(layby_semaphore_trywait_many(semaphore, permits), semaphore, NULL);
}

static inline int layby_tsan_semaphore_wait_within(layby_semaphore_t *semaphore, uint64_t permits,
                                                   const struct timespec *deadline, const layby_cancel_t *cancel)
{
    return layby_tsan_end(layby_semaphore_wait_within(semaphore, permits, deadline, cancel), semaphore, cancel);
}

static inline void layby_tsan_semaphore_post(layby_semaphore_t *semaphore)
{
    layby_tsan_gives(semaphore);
    layby_semaphore_post(semaphore);
}

static inline int layby_tsan_semaphore_post_many(layby_semaphore_t *semaphore, uint64_t permits)
{
    layby_tsan_gives(semaphore);
    return layby_semaphore_post_many(semaphore, permits);
}

static inline void layby_tsan_semaphore_post_last(layby_semaphore_t *semaphore)
{
    layby_tsan_gives(semaphore);
    layby_semaphore_post_last(semaphore);
}

static inline int layby_tsan_wait_until_within(const volatile void *address, layby_condition_t *condition,
                                               void *argument, const struct timespec *deadline,
                                               const layby_cancel_t *cancel)
{
    return layby_tsan_end(layby_wait_until_within(address, condition, argument, deadline, cancel), NULL, cancel);
}

static inline int layby_tsan_wait_if(const volatile void *address, layby_condition_t *still, void *argument,
                                     const struct timespec *deadline, const layby_cancel_t *cancel)
{
    return layby_tsan_end(layby_wait_if(address, still, argument, deadline, cancel), NULL, cancel);
}

static inline uint64_t layby_tsan_eventcount_read(const layby_eventcount_t *count)
{
    uint64_t now = layby_eventcount_read(count);
    layby_tsan_got(count);
    return now;
}

static inline int layby_tsan_eventcount_advance(layby_eventcount_t *count, uint64_t steps, uint64_t *now)
{
    layby_tsan_gives(count);
    return layby_eventcount_advance(count, steps, now);
}

static inline int layby_tsan_eventcount_wait(const layby_eventcount_t *count, uint64_t value)
{
    return layby_tsan_end(layby_eventcount_wait(count, value), count, NULL);
}

static inline int layby_tsan_eventcount_wait_within(const layby_eventcount_t *count, uint64_t value,
                                                    const struct timespec *deadline, const layby_cancel_t *cancel)
{
    return layby_tsan_end(layby_eventcount_wait_within(count, value, deadline, cancel), count, cancel);
}

static inline void layby_tsan_eventcount_close(layby_eventcount_t *count)
{
    layby_tsan_gives(count);
    layby_eventcount_close(count);
}

static inline int layby_tsan_sequencer_tickets(layby_sequencer_t *sequencer, uint64_t tickets, uint64_t *first)
{
    layby_tsan_gives(sequencer);
    return layby_tsan_end(layby_sequencer_tickets(sequencer, tickets, first), sequencer, NULL);
}

#define layby_cancel_raise layby_tsan_cancel_raise
#define layby_cancel_is_raised layby_tsan_cancel_is_raised
#define layby_cancel_reset layby_tsan_cancel_reset
#define layby_semaphore_wait layby_tsan_semaphore_wait
#define layby_semaphore_trywait layby_tsan_semaphore_trywait
#define layby_semaphore_timedwait layby_tsan_semaphore_timedwait
#define layby_semaphore_wait_many layby_tsan_semaphore_wait_many
#define layby_semaphore_trywait_many layby_tsan_semaphore_trywait_many
#define layby_semaphore_wait_within layby_tsan_semaphore_wait_within
#define layby_semaphore_post layby_tsan_semaphore_post
#define layby_semaphore_post_many layby_tsan_semaphore_post_many
#define layby_semaphore_post_last layby_tsan_semaphore_post_last
#define layby_wait_until_within layby_tsan_wait_until_within
#define layby_wait_if layby_tsan_wait_if
#define layby_eventcount_read layby_tsan_eventcount_read
#define layby_eventcount_advance layby_tsan_eventcount_advance
#define layby_eventcount_wait layby_tsan_eventcount_wait
#define layby_eventcount_wait_within layby_tsan_eventcount_wait_within
#define layby_eventcount_close layby_tsan_eventcount_close
#define layby_sequencer_tickets layby_tsan_sequencer_tickets

#endif
