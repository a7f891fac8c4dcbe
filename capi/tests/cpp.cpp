// layby.hpp: the interface of std::counting_semaphore, and what is beyond it.
#include "check.h"

#include <layby.hpp>

#include <atomic>
#include <semaphore>
#include <stdexcept>
#include <thread>
#include <vector>

#ifdef __linux__
#include <csignal>
#include <sys/wait.h>
#endif

using namespace std::chrono_literals;
using layby::wait_status;

// All of them can be statics without a constructor that runs.
constinit static layby::counting_semaphore<> pool(2);
constinit static layby::binary_semaphore gate(0);
constinit static layby::event_count count;
constinit static layby::sequencer tickets;
constinit static layby::cancel stop;

template <class Semaphore>
static void what_std_has()
{
    Semaphore s(2);
    static_assert(Semaphore::max() >= 2);
    static_assert(!std::is_copy_constructible_v<Semaphore> && !std::is_copy_assignable_v<Semaphore>);
    s.acquire();
    CHECK(s.try_acquire());
    CHECK(!s.try_acquire());
    const auto start = std::chrono::steady_clock::now();
    CHECK(!s.try_acquire_for(2ms));
    CHECK(!s.try_acquire_until(start + 4ms));
    CHECK(std::chrono::steady_clock::now() >= start + 4ms);
    const auto soon = std::chrono::system_clock::now() + 2ms;
    CHECK(!s.try_acquire_until(soon));
    CHECK(std::chrono::system_clock::now() >= soon);
    s.release();
    s.release(2);
    CHECK(s.try_acquire_for(0s));
    CHECK(s.try_acquire_for(-1s));
    CHECK(s.try_acquire_until(start));
    CHECK(!s.try_acquire());
}

// Their distance from now is more than their types can say.
static void times_that_are_far_away()
{
    layby::counting_semaphore<> s(0);
    CHECK(!s.try_acquire_until(std::chrono::steady_clock::time_point::min()));
    CHECK(!s.try_acquire_until(std::chrono::system_clock::time_point::min()));
    CHECK(s.acquire_within(std::chrono::steady_clock::time_point::min()) == layby::wait_status::timed_out);
    layby::cancel raised;
    raised.raise();
    using in_seconds = std::chrono::time_point<std::chrono::steady_clock, std::chrono::seconds>;
    CHECK(s.acquire_within({in_seconds::max(), raised}) == layby::wait_status::cancelled);
}

template <class Call>
static int error_of(Call call)
{
    try {
        call();
    } catch (const std::system_error &error) {
        return error.code().value();
    }
    return 0;
}

static void what_std_does_not_have()
{
    layby::counting_semaphore<> s(3);
    static_assert(noexcept(s.max()) && noexcept(s.acquire()) && noexcept(s.try_acquire()));
    s.acquire(2);
    CHECK(!s.try_acquire(2));
    CHECK(!s.try_acquire_for(1ms, 2));
    CHECK_IS(s.available(), 1);
    s.release_last();
    CHECK(s.acquire_within(1ms, 3) == wait_status::timed_out);
    layby::cancel raised;
    raised.raise();
    CHECK(s.acquire_within(raised, 3) == wait_status::cancelled);
    CHECK(s.acquire_within(raised, 2) == wait_status::done);
    CHECK(s.acquire_within({ 60s, raised }) == wait_status::cancelled);
    CHECK_IS(s.available(), 0);
    CHECK_IS(s.waiters(), 0);
    CHECK_IS(error_of([&] { s.acquire(-1); }), EINVAL);
    CHECK_IS(error_of([&] { s.release(-1); }), EINVAL);
    CHECK_IS(error_of([&] { (void)s.try_acquire(s.max() + 1); }), EINVAL);
    CHECK_IS(error_of([] { layby::counting_semaphore<> negative(-1); }), EINVAL);
    layby::counting_semaphore<> full(layby::counting_semaphore<>::max());
    if constexpr (sizeof(std::ptrdiff_t) == 8)
        CHECK_IS(error_of([&] { full.release(2); }), EOVERFLOW);
}

static void permits_go_back()
{
    {
        auto one = pool.hold();
        auto other = pool.try_hold();
        CHECK(other && !pool.try_hold() && !pool.hold_within(1ms));
        auto moved = std::move(one);
        CHECK_IS(one.count(), 0);
        moved.release();
        moved.release();
        CHECK_IS(pool.available(), 1);
        one = pool.hold();
        other = std::nullopt;
        CHECK_IS(pool.available(), 1);
    }
    CHECK_IS(pool.available(), 2);
    {
        auto both = pool.hold(2);
        CHECK_IS(both.count(), 2);
    }
    CHECK_IS(pool.available(), 2);
    pool.hold().forget();
    CHECK_IS(pool.available(), 1);
    pool.release();
}

static void a_lambda_is_waited_for()
{
    std::atomic<int> level{ 0 };
    std::thread waiter([&] { layby::wait_until(level, [&] { return level.load() >= 2; }); });
    for (int i = 0; i < 2; i++) {
        level++;
        layby::wake_all(level);
    }
    waiter.join();
    CHECK(layby::wait_until(level, 1ms, [&] { return level == 0; }) == wait_status::timed_out);
    CHECK(layby::wait_until(level, 1h, [&] { return level == 2; }) == wait_status::done);
    CHECK(layby::wait_until(level, std::chrono::years(1000), [&] { return level == 2; }) == wait_status::done);
    CHECK(layby::wait_if(level, [&] { return level == 0; }) == wait_status::done);
    CHECK(layby::wake_one(level) == 0);
}

struct thrown {};

template <class Wait>
static bool throws(Wait wait)
{
    try {
        wait([]() -> bool { throw thrown(); });
    } catch (const thrown &) {
        return true;
    }
    return false;
}

static void a_condition_may_throw()
{
    int x = 0;
    CHECK(throws([&](auto condition) { layby::wait_until(x, condition); }));
    CHECK(throws([&](auto condition) { (void)layby::wait_until(x, 1s, condition); }));
    CHECK(throws([&](auto condition) { layby::wait_if(x, condition); }));
    CHECK(layby::wake_all(x) == 0);
}

// By layby.h itself it may not, and that is the end of the process, not of its reason.
static void a_condition_of_c_may_not_throw()
{
#ifdef __linux__
    const pid_t child = fork();
    if (child == 0) {
        alarm(60);
        CHECK(std::freopen("/dev/null", "w", stderr) != nullptr);
        try {
            layby_wait_until(&pool, [](void *) -> int { throw thrown(); }, nullptr);
        } catch (...) {
        }
        _exit(0);
    }
    int status = 0;
    CHECK_IS(waitpid(child, &status, 0), child);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
#endif
}

static void counts_and_tickets()
{
    std::vector<std::uint64_t> served;
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; i++)
        threads.emplace_back([&] {
            for (int n = 0; n < 100; n++) {
                const auto mine = tickets.tickets();
                CHECK(count.wait(mine) == wait_status::done);
                served.push_back(mine);
                CHECK_IS(count.advance(), mine + 1);
            }
        });
    for (auto &thread : threads)
        thread.join();
    for (std::size_t i = 0; i < served.size(); i++)
        CHECK_IS(served[i], i);
    CHECK(count.wait(1000, 1ms) == wait_status::timed_out);
    count.close();
    CHECK(count.wait(1000) == wait_status::closed);
    CHECK_IS(count.read(), 400);
    CHECK_IS(error_of([] { count.advance(UINT64_MAX); }), EOVERFLOW);
    CHECK_IS(error_of([] { (void)tickets.tickets(UINT64_MAX); }), EOVERFLOW);
}

static void a_worker_is_stopped()
{
    std::thread worker([] { CHECK(gate.acquire_within(stop) == wait_status::cancelled); });
    CHECK_EVENTUALLY(gate.waiters() == 1);
    stop.raise();
    worker.join();
    CHECK(stop.is_raised() && stop.reset() && !stop.is_raised());
}

// The semaphore is gone as soon as its permit has been taken.
static void a_waiter_may_destroy_it()
{
    std::atomic<layby::binary_semaphore *> place{ nullptr };
    std::thread poster([&] {
        for (int i = 0; i < 2000; i++) {
            layby::binary_semaphore *done = nullptr;
            layby::wait_until(place, [&] { return (done = place.exchange(nullptr)) != nullptr; });
            done->release_last();
        }
    });
    for (int i = 0; i < 2000; i++) {
        auto done = std::make_unique<layby::binary_semaphore>(0);
        place = done.get();
        layby::wake_all(place);
        done->acquire();
    }
    poster.join();
}

int main()
{
    what_std_has<std::counting_semaphore<>>();
    what_std_has<layby::counting_semaphore<>>();
    what_std_does_not_have();
    times_that_are_far_away();
    permits_go_back();
    a_lambda_is_waited_for();
    a_condition_may_throw();
    a_condition_of_c_may_not_throw();
    counts_and_tickets();
    a_worker_is_stopped();
    a_waiter_may_destroy_it();
}
