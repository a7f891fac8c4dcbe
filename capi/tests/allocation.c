/* That nothing is allocated. This program's malloc and its like count the calls, also those of the library. Linux with glibc only; not
 * for sanitizers, which have a malloc of their own. */
#include "check.h"

#include <stdatomic.h>

void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);

static atomic_uint allocations;

void *malloc(size_t size)
{
    atomic_fetch_add(&allocations, 1);
    return __libc_malloc(size);
}

void *calloc(size_t number, size_t size)
{
    atomic_fetch_add(&allocations, 1);
    return __libc_calloc(number, size);
}

void *realloc(void *memory, size_t size)
{
    atomic_fetch_add(&allocations, 1);
    return __libc_realloc(memory, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    atomic_fetch_add(&allocations, 1);
    return __libc_memalign(alignment, size);
}

int posix_memalign(void **memory, size_t alignment, size_t size)
{
    *memory = aligned_alloc(alignment, size);
    return *memory ? 0 : ENOMEM;
}

static layby_semaphore_t here = LAYBY_SEMAPHORE_INIT(0), there = LAYBY_SEMAPHORE_INIT(0);
static layby_eventcount_t count = LAYBY_EVENTCOUNT_INIT;
static atomic_int flag;

enum { ROUNDS = 200 };

static int is_set(void *value)
{
    return atomic_load(&flag) == *(int *)value;
}

static void *answer(void *unused)
{
    (void)unused;
    for (int i = 1; i <= ROUNDS; i++) {
        layby_semaphore_wait(&there);
        if (i % 20 == 0)
            usleep(2000); /* so that the other sleeps */
        layby_semaphore_post(&here);
        CHECK_IS(layby_eventcount_advance(&count, 1, NULL), 0);
        atomic_store(&flag, i);
        layby_wake_all(&flag);
    }
    return NULL;
}

int main(void)
{
    layby_cancel_t cancel = LAYBY_CANCEL_INIT;
    pthread_t other = check_start(answer, NULL);
    unsigned before = atomic_load(&allocations);
    for (int i = 1; i <= ROUNDS; i++) {
        struct timespec late = check_in(60000), soon = check_in(1);
        layby_semaphore_post(&there);
        CHECK_IS(layby_semaphore_wait_within(&here, 1, &late, &cancel), 0);
        CHECK_IS(layby_eventcount_wait_within(&count, i, &late, &cancel), 0);
        CHECK_IS(layby_wait_until(&flag, is_set, &i), 0);
        if (i % 20 == 0)
            CHECK_IS(layby_semaphore_timedwait(&here, &soon), ETIMEDOUT);
    }
    unsigned after = atomic_load(&allocations);
    check_join(other);
    CHECK_IS(after - before, 0);
    void *volatile something = malloc(1);
    free(something);
    CHECK(atomic_load(&allocations) > after); /* it counts */
    return 0;
}
