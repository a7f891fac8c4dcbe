/* Three workers, one at a time at the table, in the order in which they came.
 * cc 01_hello.c $(pkg-config --cflags --libs layby) -lpthread -o hello && ./hello */
#include <layby.h>

#include <pthread.h>
#include <stdio.h>

static layby_semaphore_t table = LAYBY_SEMAPHORE_INIT(1);

static void *work(void *name)
{
    layby_semaphore_wait(&table);
    printf("%s is at the table\n", (const char *)name);
    layby_semaphore_post(&table);
    return NULL;
}

int main(void)
{
    static char *const names[] = { "Ada", "Barbara", "Frances" };
    pthread_t workers[3];
    for (int i = 0; i < 3; i++)
        pthread_create(&workers[i], NULL, work, names[i]);
    for (int i = 0; i < 3; i++)
        pthread_join(workers[i], NULL);
    printf("layby %s\n", layby_version());
    return 0;
}
