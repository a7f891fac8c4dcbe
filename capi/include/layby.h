/* layby: semaphores that serve in order, wait and wake on any address, eventcounts; on Linux, Windows and beyond.
 *
 * C11, and C++ from C++11 on; layby.hpp has classes for C++20. docs/c.md is the page to begin with.
 *
 * Rules for all of it
 *
 * - Objects are yours: of fixed size, in static memory, on the stack or on the heap, and made by a constant initialiser
 *   (`layby_semaphore_t jobs = LAYBY_SEMAPHORE_INIT(0);`). There is nothing to destroy. An object must not be copied or moved while
 *   anybody uses it. Its members are the library's business.
 * - A function that can fail returns 0 or an error number of <errno.h>, as pthread's do; errno itself stays as it was. (Only
 *   layby_dump_waiters_on_signal, when it fails, leaves sigaction's errno behind.)
 * - A deadline is a point of time on CLOCK_MONOTONIC; on Windows, on the clock that MinGW calls so. layby_deadline_after makes one.
 *   A wait never gives up early. A deadline that is a null pointer, or too far away for the clock, means forever. Its
 *   nanoseconds must be within 0 and 999,999,999 (EINVAL); semaphores and eventcounts look at that when there is something to wait
 *   for, the others at once.
 * - A wait that gives up, because of the time or because it is cancelled, has taken nothing, holds up nobody behind it, and leaves
 *   nothing behind: its object may be freed if nobody else uses it.
 * - A pointer to an object must not be null, except where it says so.
 * - What a thread has done before a post, an advance or a raise is visible to the thread that got the permit, has seen the
 *   count, or has seen the flag. ThreadSanitizer is told so, in programs that are compiled with -fsanitize=thread.
 * - Nothing here is for several processes: those that wait and those that wake are in one.
 *
 * What may be called where
 *
 *                                      a signal handler    a child after fork (*)    allocates
 *   post, post_last, post_many         yes (+)             yes                       no
 *   wake, advance, close, raise        yes (+)             yes                       no
 *   trywait, value, waiters, read,
 *   is_raised, reset, tickets          yes                 yes                       no
 *   wait, timedwait and all else that
 *   waits                              no: it may have     yes                       no; a wait that gives up may
 *                                      interrupted who                               need memory for its place in
 *                                      would wake it                                 line, if some hundred have
 *   layby_dump_waiters                 yes (+)             yes                       no
 *   layby_dump_waiters_on_signal       no                  yes                       no
 *
 *   (+) On Linux and Android. Elsewhere there are no such signals, or, on systems that have neither a futex nor WaitOnAddress, only
 *       while nobody sleeps.
 *   (*) On Linux and Android, after fork(); not after vfork, _Fork or a bare clone. Nobody waits in the child. What the thread that
 *       forked held, it can give back and take again; what the parent's other threads held stays taken. SECURITY.md has the details.
 *
 * pthread_cancel: no function here is a cancellation point. A thread that waits, waits on until it has what it waits for, and
 * is cancelled at the next cancellation point outside; to end a wait, give it a layby_cancel_t. A thread whose cancellation is
 * asynchronous must not call anything here: what it leaves behind when it ends in the middle of a wait is memory that others
 * write to. The same goes for longjmp, and for freeing the stack of a coroutine, out of the middle of a wait.
 *
 * Nothing unwinds through these functions. A condition (below) that throws a C++ exception, or is cancelled, ends the process;
 * layby.hpp takes exceptions of its conditions across.
 */
#ifndef LAYBY_H
#define LAYBY_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>

#ifdef __cplusplus
#define LAYBY_ALIGNED_ alignas(8)
#define LAYBY_ASSERT_(what, why) static_assert(what, why)
#define LAYBY_NOEXCEPT_ noexcept
extern "C" {
#else
#define LAYBY_ALIGNED_ _Alignas(8)
#define LAYBY_ASSERT_(what, why) _Static_assert(what, why)
#define LAYBY_NOEXCEPT_
#endif

#if defined(__GNUC__)
#define LAYBY_CHECK_ __attribute__((__warn_unused_result__))
#else
#define LAYBY_CHECK_
#endif

/* For what takes a few nanoseconds: called through its address, and not by way of a jump, where the library is a shared one. */
#if defined(__ELF__) && defined(__has_attribute)
#if __has_attribute(__noplt__)
#define LAYBY_SHORT_ __attribute__((__noplt__))
#endif
#endif
#ifndef LAYBY_SHORT_
#define LAYBY_SHORT_
#endif

/* The version of this header; layby_version() is that of the library. */
#define LAYBY_VERSION "0.1.0"

/* A flag that ends waits: shutdown, an interrupt, a request that nobody wants any more. */
typedef struct layby_cancel {
    uint32_t state_;
} layby_cancel_t;

#define LAYBY_CANCEL_INIT { 0 }

/* Ends every wait that this is given to, those that are asleep and those to come, until it is reset. They return ECANCELED. */
void layby_cancel_raise(layby_cancel_t *cancel) LAYBY_NOEXCEPT_;

/* Not 0 if it has been raised. */
int layby_cancel_is_raised(const layby_cancel_t *cancel) LAYBY_NOEXCEPT_;

/* Makes it as new; not 0 if it had been raised. Waits that have not seen that go on. */
int layby_cancel_reset(layby_cancel_t *cancel) LAYBY_NOEXCEPT_;

/* Sets the deadline to so many nanoseconds from now. */
void layby_deadline_after(struct timespec *deadline, uint64_t nanoseconds) LAYBY_NOEXCEPT_;

/* A counting semaphore, first come, first served: permits go to those who wait in the order in which they came, and nobody who
 * comes later takes one that was posted for a sleeper. */
typedef struct layby_semaphore {
    LAYBY_ALIGNED_ uint64_t taken_;
    uint64_t granted_;
} layby_semaphore_t;

/* The most permits that a semaphore is filled to by an initialiser and by layby_semaphore_post_many, and that can be taken at
 * once. */
#define LAYBY_SEMAPHORE_MAX ((UINT64_C(1) << 61) - 1)

/* With so many permits, at most LAYBY_SEMAPHORE_MAX. */
#define LAYBY_SEMAPHORE_INIT(permits) { 0, (permits) }

/* The same at run time. EINVAL: too many. */
LAYBY_CHECK_ int layby_semaphore_init(layby_semaphore_t *semaphore, uint64_t permits) LAYBY_NOEXCEPT_;

/* Takes a permit, waiting for one if necessary. */
LAYBY_SHORT_ void layby_semaphore_wait(layby_semaphore_t *semaphore) LAYBY_NOEXCEPT_;

/* Takes a permit if there is one that nobody waits for. EAGAIN: there is none. */
LAYBY_SHORT_ LAYBY_CHECK_ int layby_semaphore_trywait(layby_semaphore_t *semaphore) LAYBY_NOEXCEPT_;

/* Takes a permit, waiting for one until the deadline. ETIMEDOUT: none came in time. EINVAL: that is no time. */
LAYBY_CHECK_ int layby_semaphore_timedwait(layby_semaphore_t *semaphore,
                                           const struct timespec *deadline) LAYBY_NOEXCEPT_;

/* Takes so many permits together, waiting for them if necessary. While it waits, all permits go to it, and those who came later
 * wait even if there would be enough for them. Taking none succeeds. EINVAL: more than LAYBY_SEMAPHORE_MAX. EOVERFLOW: more than that
 * together with what is waited for already. */
LAYBY_CHECK_ int layby_semaphore_wait_many(layby_semaphore_t *semaphore, uint64_t permits) LAYBY_NOEXCEPT_;

/* Takes so many permits together, if they are there and nobody waits for them. EAGAIN: they are not. EINVAL: as above. */
LAYBY_CHECK_ int layby_semaphore_trywait_many(layby_semaphore_t *semaphore, uint64_t permits) LAYBY_NOEXCEPT_;

/* Takes so many permits together, waiting for them until the deadline, or until it is cancelled; either may be null. ETIMEDOUT,
 * ECANCELED: that came first. EINVAL, EOVERFLOW: as above. */
LAYBY_CHECK_ int layby_semaphore_wait_within(layby_semaphore_t *semaphore, uint64_t permits,
                                             const struct timespec *deadline,
                                             const layby_cancel_t *cancel) LAYBY_NOEXCEPT_;

/* Adds a permit, and wakes the thread that it goes to. The semaphore must stay alive until this returns, which may be after that
 * thread has gone on. */
LAYBY_SHORT_ void layby_semaphore_post(layby_semaphore_t *semaphore) LAYBY_NOEXCEPT_;

/* Adds so many permits, and wakes the threads that they go to. EOVERFLOW: there would be more than LAYBY_SEMAPHORE_MAX; none is
 * added. */
LAYBY_CHECK_ int layby_semaphore_post_many(layby_semaphore_t *semaphore, uint64_t permits) LAYBY_NOEXCEPT_;

/* Like layby_semaphore_post, but does not touch the semaphore once the permit is there: whoever gets it may free the semaphore
 * at once. For a semaphore on the stack of the thread that waits, for example. Costs a few nanoseconds more. */
void layby_semaphore_post_last(layby_semaphore_t *semaphore) LAYBY_NOEXCEPT_;

/* How many permits could be taken without waiting, at this moment. */
uint64_t layby_semaphore_value(const layby_semaphore_t *semaphore) LAYBY_NOEXCEPT_;

/* How many permits are waited for, at this moment. */
uint64_t layby_semaphore_waiters(const layby_semaphore_t *semaphore) LAYBY_NOEXCEPT_;

/* A condition: not 0 if it holds. It is called on the thread that waits, any number of times, while nothing is held: it may
 * lock, post, wake and wait itself. It must return: no exception, no longjmp, no pthread_exit, no cancellation point unless
 * cancellation is disabled. */
typedef int layby_condition_t(void *argument);

/* Waits until the condition holds; called last when it does, so it may take what it waits for. Whoever makes it true calls
 * layby_wake_all with the same address afterwards. The address is a name that both sides agree on, usually that of what the
 * condition reads, which should be atomic or locked. EINVAL: a null pointer for a condition. */
int layby_wait_until(const volatile void *address, layby_condition_t *condition, void *argument) LAYBY_NOEXCEPT_;

/* Waits until the condition holds, until the deadline, or until it is cancelled; either may be null. ETIMEDOUT, ECANCELED: that
 * came first, and the condition still did not hold. EINVAL: no condition, or no time. */
LAYBY_CHECK_ int layby_wait_until_within(const volatile void *address, layby_condition_t *condition, void *argument,
                                         const struct timespec *deadline,
                                         const layby_cancel_t *cancel) LAYBY_NOEXCEPT_;

/* If `still` holds, waits for one wake-up, until the deadline, or until it is cancelled; either may be null. What futex(2) calls
 * FUTEX_WAIT, with a condition in place of a value: call it in a loop, since it may return early. For those whom layby_wake_one is
 * to wake one by one. 0: woken, or early, or `still` did not hold. ETIMEDOUT, ECANCELED: that came first, and no wake-up has been
 * used up. EINVAL: no condition, or no time. */
LAYBY_CHECK_ int layby_wait_if(const volatile void *address, layby_condition_t *still, void *argument,
                               const struct timespec *deadline, const layby_cancel_t *cancel) LAYBY_NOEXCEPT_;

/* Wakes all who wait on the address; returns how many. Nothing is read there, and it may be gone. With nobody to wake it costs a fence
 * and a load. */
size_t layby_wake_all(const volatile void *address) LAYBY_NOEXCEPT_;

/* Wakes the one that has waited longest on the address by layby_wait_if, and all who wait there in other ways; returns how
 * many. */
size_t layby_wake_one(const volatile void *address) LAYBY_NOEXCEPT_;

/* A count that only grows, and threads that wait until it has reached a value. An advance wakes those whose value is reached, and
 * nobody else. */
typedef struct layby_eventcount {
    LAYBY_ALIGNED_ uint64_t state_;
} layby_eventcount_t;

#define LAYBY_EVENTCOUNT_INIT { 0 }

/* The largest count, and the number of tickets of a sequencer. */
#define LAYBY_EVENTCOUNT_MAX ((UINT64_C(1) << 62) - 1)

/* The count. */
uint64_t layby_eventcount_read(const layby_eventcount_t *count) LAYBY_NOEXCEPT_;

/* Adds to the count, and wakes those whose value is reached; stores the new count in *now, unless that is null. Whoever has seen
 * the new count may free it at once. EOVERFLOW: it would exceed LAYBY_EVENTCOUNT_MAX; it is unchanged. */
int layby_eventcount_advance(layby_eventcount_t *count, uint64_t steps, uint64_t *now) LAYBY_NOEXCEPT_;

/* Waits until the count is at least so much. EPIPE: it was closed before. */
LAYBY_CHECK_ int layby_eventcount_wait(const layby_eventcount_t *count, uint64_t value) LAYBY_NOEXCEPT_;

/* The same until the deadline, or until it is cancelled; either may be null. EPIPE, ETIMEDOUT, ECANCELED: that came first. EINVAL:
 * that is no time. */
LAYBY_CHECK_ int layby_eventcount_wait_within(const layby_eventcount_t *count, uint64_t value,
                                              const struct timespec *deadline,
                                              const layby_cancel_t *cancel) LAYBY_NOEXCEPT_;

/* Closes the count: all who wait return, and all who come later return at once. It can still be read and advanced. */
void layby_eventcount_close(layby_eventcount_t *count) LAYBY_NOEXCEPT_;

/* A source of consecutive tickets: 0, 1, 2 and so on, each given out once. */
typedef struct layby_sequencer {
    LAYBY_ALIGNED_ uint64_t next_;
} layby_sequencer_t;

#define LAYBY_SEQUENCER_INIT { 0 }

/* Draws so many consecutive tickets; stores the first in *first. EOVERFLOW: so many are not left, and none is drawn. */
int layby_sequencer_tickets(layby_sequencer_t *sequencer, uint64_t tickets, uint64_t *first) LAYBY_NOEXCEPT_;

/* Writes to standard error who waits on what and since when, a line for each thread: for a program that hangs. In a debugger:
 * call (void)layby_dump_waiters(). */
void layby_dump_waiters(void) LAYBY_NOEXCEPT_;

/* Has that done whenever the process gets the signal, such as SIGUSR1. EINVAL: a signal that cannot be handled so. EEXIST: it has a
 * handler already. ENOTSUP: not on this platform. */
LAYBY_CHECK_ int layby_dump_waiters_on_signal(int signal) LAYBY_NOEXCEPT_;

/* The version of the library, such as "0.1.0". */
const char *layby_version(void) LAYBY_NOEXCEPT_;

/* What the library was built for. src/ has the same assertions about its side. */
LAYBY_ASSERT_(sizeof(layby_cancel_t) == 4, "layby_cancel_t has 4 bytes");
LAYBY_ASSERT_(sizeof(layby_semaphore_t) == 16, "layby_semaphore_t has 16 bytes");
LAYBY_ASSERT_(sizeof(layby_eventcount_t) == 8, "layby_eventcount_t has 8 bytes");
LAYBY_ASSERT_(sizeof(layby_sequencer_t) == 8, "layby_sequencer_t has 8 bytes");
LAYBY_ASSERT_(offsetof(layby_semaphore_t, granted_) == 8, "the second word follows the first");
#ifndef __cplusplus
LAYBY_ASSERT_(_Alignof(layby_semaphore_t) == 8, "layby_semaphore_t is aligned");
LAYBY_ASSERT_(_Alignof(layby_eventcount_t) == 8, "layby_eventcount_t is aligned");
#else
LAYBY_ASSERT_(alignof(layby_semaphore_t) == 8, "layby_semaphore_t is aligned");
LAYBY_ASSERT_(alignof(layby_eventcount_t) == 8, "layby_eventcount_t is aligned");
#endif
#ifndef _WIN32
LAYBY_ASSERT_(sizeof(time_t) == sizeof(long), "layby on 32 bits has a time_t of 32: do not define _TIME_BITS");
#endif

/* ThreadSanitizer does not see into the library: it is told of every hand-over in the program's own code. */
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define LAYBY_TSAN_ 1
#endif
#endif
#if defined(__SANITIZE_THREAD__) && !defined(LAYBY_TSAN_)
#define LAYBY_TSAN_ 1
#endif

#ifdef LAYBY_TSAN_
#include "layby_tsan.h"
#endif

#ifdef __cplusplus
}
#endif

#endif
