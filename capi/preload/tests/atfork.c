/* Forks while other threads use a library that has a lock of its own: atfork_library.c. */
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

void use_library(void);
int use_library_in_time(const struct timespec *deadline);

enum { THREADS = 3, FORKS = 40 };

static volatile int is_over;

static void *use_all_the_time(void *unused) {
    (void)unused;
    while (!is_over) {
        use_library();
        usleep(20);
    }
    return NULL;
}

int main(void) {
    pthread_t threads[THREADS];
    int succeeded = 0;
    for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, use_all_the_time, NULL);
    for (int i = 0; i < FORKS; i++) {
        pid_t child = fork();
        if (child == 0) {
            struct timespec deadline;
            clock_gettime(CLOCK_REALTIME, &deadline);
            deadline.tv_sec += 60;
            _exit(use_library_in_time(&deadline) ? 0 : 1);
        }
        int status;
        waitpid(child, &status, 0);
        succeeded += status == 0;
    }
    is_over = 1;
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    printf("%d of %d children use the library\n", succeeded, FORKS);
    return succeeded != FORKS;
}
