// What C and C++ programs have for a semaphore, against layby's: the time of a wait and a post with nobody else there, and how often in
// a second T threads get through one permit. The work is the paper's: one step of a Mersenne twister that is shared and needs the
// permit, one step of the thread's own without it.
//
//   layby          layby_semaphore_wait and _post, by a call into the static library (or the shared one: bench-shared)
//   layby, last    the same with layby_semaphore_post_last
//   sem_t          sem_wait and sem_post of the C library; barging: whoever comes first
//   std            std::counting_semaphore of the C++ library; barging
//   atomic::wait   a count in a std::atomic, its wait and notify_one; barging
//   pthread FIFO   first come, first served, by a mutex and a condition variable for each who waits, handed over
//
// Contenders are interleaved in each round; what is printed is the median of the rounds. Usage: bench [--quick] [T...]
#include <layby.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <functional>
#include <pthread.h>
#include <random>
#include <semaphore>
#include <semaphore.h>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace std::chrono_literals;

struct layby_one {
    static constexpr const char *name = "layby";
    layby_semaphore_t semaphore = LAYBY_SEMAPHORE_INIT(1);
    void wait() { layby_semaphore_wait(&semaphore); }
    void post() { layby_semaphore_post(&semaphore); }
};

struct layby_last {
    static constexpr const char *name = "layby, last";
    layby_semaphore_t semaphore = LAYBY_SEMAPHORE_INIT(1);
    void wait() { layby_semaphore_wait(&semaphore); }
    void post() { layby_semaphore_post_last(&semaphore); }
};

struct posix {
    static constexpr const char *name = "sem_t";
    sem_t semaphore;
    posix() { sem_init(&semaphore, 0, 1); }
    ~posix() { sem_destroy(&semaphore); }
    void wait()
    {
        while (sem_wait(&semaphore) != 0) {
        }
    }
    void post() { sem_post(&semaphore); }
};

struct standard {
    static constexpr const char *name = "std";
    std::counting_semaphore<> semaphore{ 1 };
    void wait() { semaphore.acquire(); }
    void post() { semaphore.release(); }
};

struct atomic_wait {
    static constexpr const char *name = "atomic::wait";
    std::atomic<int> count{ 1 };
    void wait()
    {
        for (int seen = count.load(std::memory_order_relaxed);;) {
            if (seen == 0) {
                count.wait(0, std::memory_order_relaxed);
                seen = count.load(std::memory_order_relaxed);
            } else if (count.compare_exchange_weak(seen, seen - 1, std::memory_order_acquire, std::memory_order_relaxed)) {
                return;
            }
        }
    }
    void post()
    {
        count.fetch_add(1, std::memory_order_release);
        count.notify_one();
    }
};

// Not a condition variable for all with tickets, which wakes all for each: slower by far, and easier to beat.
struct pthread_fifo {
    static constexpr const char *name = "pthread FIFO";
    struct waiter {
        pthread_cond_t granted = PTHREAD_COND_INITIALIZER;
        bool is_granted = false;
        waiter *next = nullptr;
    };
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    unsigned count = 1;
    waiter *first = nullptr, **last = &first;

    void wait()
    {
        pthread_mutex_lock(&mutex);
        if (count > 0) {
            count--;
        } else {
            waiter mine;
            *last = &mine;
            last = &mine.next;
            while (!mine.is_granted)
                pthread_cond_wait(&mine.granted, &mutex);
        }
        pthread_mutex_unlock(&mutex);
    }
    void post()
    {
        pthread_mutex_lock(&mutex);
        if (waiter *next = first) {
            first = next->next;
            if (!first)
                last = &first;
            next->is_granted = true;
            pthread_cond_signal(&next->granted);
        } else {
            count++;
        }
        pthread_mutex_unlock(&mutex);
    }
};

double cpu_seconds(clockid_t clock)
{
    timespec now;
    clock_gettime(clock, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// Nanoseconds of this thread for a wait and a post.
template <class Semaphore>
double alone(int n)
{
    alignas(64) Semaphore semaphore;
    const double start = cpu_seconds(CLOCK_THREAD_CPUTIME_ID);
    for (int i = 0; i < n; i++) {
        semaphore.wait();
        semaphore.post();
    }
    return (cpu_seconds(CLOCK_THREAD_CPUTIME_ID) - start) / n * 1e9;
}

struct rate {
    double per_second, cpu_per_operation;
};

template <class Semaphore>
rate contended(int threads, std::chrono::milliseconds duration)
{
    struct {
        alignas(128) Semaphore semaphore;
        alignas(128) std::mt19937 twister;
        alignas(128) std::atomic<bool> counts{ false }, stop{ false };
        alignas(128) std::atomic<int> ready{ 0 };
        std::atomic<unsigned long> done{ 0 };
    } shared;
    std::vector<std::thread> running;
    for (int t = 0; t < threads; t++)
        running.emplace_back([&shared, t] {
            std::mt19937 own(static_cast<unsigned>(t));
            unsigned long done = 0;
            volatile unsigned sink = 0;
            for (bool is_first = true; !shared.stop.load(std::memory_order_relaxed); is_first = false) {
                shared.semaphore.wait();
                sink = static_cast<unsigned>(shared.twister());
                shared.semaphore.post();
                sink = static_cast<unsigned>(own());
                done += shared.counts.load(std::memory_order_relaxed);
                if (is_first)
                    shared.ready++;
            }
            (void)sink;
            shared.done += done;
        });
    // Until every thread has been through once: before, there are not T of them, and one alone is fast.
    while (shared.ready < threads)
        std::this_thread::sleep_for(1ms);
    const double cpu = cpu_seconds(CLOCK_PROCESS_CPUTIME_ID);
    const auto start = std::chrono::steady_clock::now();
    shared.counts = true;
    std::this_thread::sleep_for(duration);
    shared.stop = true;
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    for (auto &thread : running)
        thread.join();
    const auto done = static_cast<double>(std::max(1ul, shared.done.load()));
    return { done / took.count(), (cpu_seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu) / done * 1e9 };
}

struct contender {
    const char *name;
    std::function<double(int)> alone;
    std::function<rate(int, std::chrono::milliseconds)> contended;
};

template <class... Semaphore>
std::vector<contender> all()
{
    return { { Semaphore::name, alone<Semaphore>, contended<Semaphore> }... };
}

double median(std::vector<double> values)
{
    std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
    return values[values.size() / 2];
}

double of(const std::vector<contender> &contenders, const std::vector<double> &medians, const char *name)
{
    for (std::size_t i = 0; i < contenders.size(); i++)
        if (std::strcmp(contenders[i].name, name) == 0)
            return medians[i];
    return 0;
}

}  // namespace

int main(int count, char **arguments)
{
    const bool quick = count > 1 && std::string(arguments[1]) == "--quick";
    const int rounds = quick ? 1 : 7, alone_rounds = quick ? 1 : 31, alone_times = quick ? 1000 : 500000;
    const auto duration = quick ? 5ms : 100ms;
    const auto contenders = all<layby_one, layby_last, posix, standard, atomic_wait, pthread_fifo>();
    std::vector<std::vector<double>> samples(contenders.size());
    std::vector<double> medians(contenders.size());

    std::printf("%-28s", "");
    for (const auto &contender : contenders)
        std::printf("%14s", contender.name);
    std::printf("\n%-28s", "alone, ns");
    for (int round = 0; round < alone_rounds; round++)
        for (std::size_t i = 0; i < contenders.size(); i++)
            samples[i].push_back(contenders[i].alone(alone_times));
    for (std::size_t i = 0; i < contenders.size(); i++)
        std::printf("%14.2f", medians[i] = median(samples[i]));
    const double alone_ratio = of(contenders, medians, "layby") / of(contenders, medians, "sem_t");

    std::vector<std::string> ratios;
    std::vector<int> crowds;
    for (int i = quick ? 2 : 1; i < count; i++)
        crowds.push_back(std::stoi(arguments[i]));
    if (crowds.empty())
        crowds = { 2, 4, 8, 16, 32, 64 };
    for (const int threads : crowds) {
        std::vector<std::vector<double>> cpu(contenders.size());
        for (auto &of_one : samples)
            of_one.clear();
        for (int round = 0; round < rounds; round++)
            for (std::size_t i = 0; i < contenders.size(); i++) {
                const auto [per_second, cpu_per_operation] = contenders[i].contended(threads, duration);
                samples[i].push_back(per_second);
                cpu[i].push_back(cpu_per_operation);
            }
        std::printf("\nT = %-2d, million a second    ", threads);
        for (std::size_t i = 0; i < contenders.size(); i++)
            std::printf("%14.3f", (medians[i] = median(samples[i])) / 1e6);
        std::printf("\n        ns of CPU each      ");
        for (std::size_t i = 0; i < contenders.size(); i++)
            std::printf("%14.0f", median(cpu[i]));
        char text[80];
        std::snprintf(text, sizeof text, "T = %d: %.1f x the pthread FIFO's rate", threads,
                      of(contenders, medians, "layby") / of(contenders, medians, "pthread FIFO"));
        ratios.push_back(text);
        std::fflush(stdout);
    }
    std::printf("\n\nalone: %.2f x sem_t's time (bar: at most 0.80)\n", alone_ratio);
    for (const auto &ratio : ratios)
        std::printf("%s\n", ratio.c_str());
    std::printf("(bar: at least 2 x for T = 4 to 64)\n");
}
