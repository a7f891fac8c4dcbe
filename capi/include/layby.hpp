// layby for C++20: what layby.h has, as classes.
//
//   layby::counting_semaphore<>     std::counting_semaphore's interface; beyond it first come, first served, many permits at a time,
//                                   cancellation, guards, and a release after which the semaphore may be freed
//   layby::permit                   a permit that goes back by itself
//   layby::wait_until               sleep until a lambda says true; layby::wake_all, wake_one
//   layby::event_count, sequencer   threads that follow each other's progress
//   layby::cancel, limit            what ends a wait besides what it waits for
//
// The rules are those of layby.h: objects do not move, are constant-initialised (`constinit`) and need no destructor; nothing here is for
// several processes. What can fail by itself returns so; arguments that make no sense throw std::system_error with the error number
// that layby.h names. An exception that a condition throws ends the wait and is thrown from it.
#ifndef LAYBY_HPP
#define LAYBY_HPP

#include "layby.h"

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <limits>
#include <memory>
#include <optional>
#include <system_error>
#include <type_traits>
#include <utility>

namespace layby {

/// How a wait ended.
enum class wait_status {
    done,       ///< with what it waited for
    timed_out,  ///< the deadline passed first
    cancelled,  ///< a cancel was raised first
    closed,     ///< the event_count was closed first
};

/// A flag that ends waits. It may be raised in a signal handler.
class cancel {
public:
    constexpr cancel() noexcept = default;
    cancel(const cancel &) = delete;
    cancel &operator=(const cancel &) = delete;

    /// Ends every wait that has it in its limit, until it is reset.
    void raise() noexcept { layby_cancel_raise(&flag_); }
    [[nodiscard]] bool is_raised() const noexcept { return layby_cancel_is_raised(&flag_) != 0; }
    /// Makes it as new; says whether it had been raised.
    bool reset() noexcept { return layby_cancel_reset(&flag_) != 0; }

    [[nodiscard]] const layby_cancel_t *native_handle() const noexcept { return &flag_; }

private:
    layby_cancel_t flag_ LAYBY_CANCEL_INIT;
};

namespace detail {

/// How long it is until then: no time if that has passed, and the longest there is if it is more than 146 years.
template <class Clock, class Duration>
std::chrono::nanoseconds time_left(std::chrono::time_point<Clock, Duration> deadline) noexcept
{
    using std::chrono::nanoseconds;
    using approximate = std::chrono::duration<double, std::nano>;
    const auto now = Clock::now().time_since_epoch();
    const double left = approximate(deadline.time_since_epoch()).count() - approximate(now).count();
    if (left >= 4.6e18)
        return nanoseconds::max();
    if (left <= -4.6e18)
        return nanoseconds::zero();
    // So close to now that nothing here overflows.
    return std::chrono::ceil<nanoseconds>(deadline.time_since_epoch()) - std::chrono::floor<nanoseconds>(now);
}

} // namespace detail

/// What ends a wait besides what it waits for: a time, a point of time, a cancel, or whichever of two comes first.
class limit {
public:
    /// No limit.
    limit() noexcept = default;
    limit(const cancel &flag) noexcept : flag_(flag.native_handle()) {}
    /// From now on: for several waits in a row it is one deadline.
    template <class Rep, class Period>
    limit(std::chrono::duration<Rep, Period> timeout) noexcept : has_deadline_(true) { set_after(timeout); }
    template <class Duration>
    limit(std::chrono::time_point<std::chrono::steady_clock, Duration> deadline) noexcept
        : limit(detail::time_left(deadline)) {}
    template <class Time>
    limit(Time time, const cancel &flag) noexcept : limit(time) { flag_ = flag.native_handle(); }

    [[nodiscard]] const timespec *deadline() const noexcept { return has_deadline_ ? &deadline_ : nullptr; }
    [[nodiscard]] const layby_cancel_t *flag() const noexcept { return flag_; }

private:
    template <class Rep, class Period>
    void set_after(std::chrono::duration<Rep, Period> timeout) noexcept
    {
        using nanoseconds = std::chrono::duration<double, std::nano>;
        // A time that is too long for 64 bits of nanoseconds, 292 years, is as good as forever.
        if (nanoseconds(timeout).count() >= 9.2e18)
            has_deadline_ = false;
        else if (timeout <= timeout.zero())
            layby_deadline_after(&deadline_, 0);
        else
            layby_deadline_after(&deadline_, static_cast<std::uint64_t>(std::chrono::ceil<std::chrono::nanoseconds>(timeout).count()));
    }

    timespec deadline_{};
    const layby_cancel_t *flag_ = nullptr;
    bool has_deadline_ = false;
};

namespace detail {

[[noreturn]] inline void fail(int error, const char *what)
{
    throw std::system_error(error, std::generic_category(), what);
}

/// How a wait ended; arguments that make no sense throw.
inline wait_status status_of(int result, const char *what)
{
    switch (result) {
    case 0: return wait_status::done;
    case ETIMEDOUT: return wait_status::timed_out;
    case ECANCELED: return wait_status::cancelled;
    case EPIPE: return wait_status::closed;
    default: fail(result, what);
    }
}

/// A condition as layby.h calls it. What it throws is kept: nothing may unwind through the library.
template <class Condition>
class carried {
public:
    explicit carried(Condition &condition) noexcept : condition_(condition) {}

    static int call(void *self) noexcept
    {
        auto &carried = *static_cast<class carried *>(self);
        try {
            return carried.condition_() ? 1 : 0;
        } catch (...) {
            carried.thrown_ = std::current_exception();
            return carried.on_throw_;
        }
    }

    /// For a wait_if, whose condition says whether to wait.
    void stops_by_false() noexcept { on_throw_ = 0; }

    void rethrow() const
    {
        if (thrown_)
            std::rethrow_exception(thrown_);
    }

private:
    Condition &condition_;
    std::exception_ptr thrown_;
    int on_throw_ = 1;
};

template <class Location>
const volatile void *address_of(const Location &location) noexcept
{
    return std::addressof(location);
}

}  // namespace detail

/// Permits that go back to their semaphore by themselves, when this is destroyed.
class [[nodiscard]] permit {
public:
    /// Permits that have been taken already.
    permit(layby_semaphore_t &semaphore, std::uint64_t count) noexcept : semaphore_(&semaphore), count_(count) {}
    permit(permit &&other) noexcept : semaphore_(other.semaphore_), count_(std::exchange(other.count_, 0)) {}
    permit &operator=(permit &&other) noexcept
    {
        if (this != &other) {
            release();
            semaphore_ = other.semaphore_;
            count_ = std::exchange(other.count_, 0);
        }
        return *this;
    }
    ~permit() { release(); }

    /// How many they are.
    [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
    /// Puts them back now.
    void release() noexcept
    {
        const auto count = std::exchange(count_, 0);
        if (count == 1)
            layby_semaphore_post(semaphore_);
        else if (count != 0)
            (void)!layby_semaphore_post_many(semaphore_, count);  // what does not fit is left out
    }
    /// Leaves them taken: somebody else will release them.
    void forget() noexcept { count_ = 0; }

private:
    layby_semaphore_t *semaphore_;
    std::uint64_t count_;
};

/// std::counting_semaphore, first come, first served, and more.
template <std::ptrdiff_t LeastMaxValue = std::numeric_limits<std::ptrdiff_t>::max() / 4>
class counting_semaphore {
public:
    static constexpr std::ptrdiff_t max() noexcept { return max_; }
    static_assert(LeastMaxValue >= 0 && LeastMaxValue <= std::numeric_limits<std::ptrdiff_t>::max() / 4);

    constexpr explicit counting_semaphore(std::ptrdiff_t desired) : semaphore_ LAYBY_SEMAPHORE_INIT(checked(desired)) {}
    counting_semaphore(const counting_semaphore &) = delete;
    counting_semaphore &operator=(const counting_semaphore &) = delete;

    /// Adds permits, and wakes those that they go to. The semaphore must live until this returns.
    void release(std::ptrdiff_t update = 1)
    {
        if (update == 1)
            layby_semaphore_post(&semaphore_);
        else if (const int error = layby_semaphore_post_many(&semaphore_, checked(update)))
            detail::fail(error, "layby::counting_semaphore::release");
    }

    /// Adds a permit; whoever gets it may destroy the semaphore at once, before this has returned.
    void release_last() noexcept { layby_semaphore_post_last(&semaphore_); }

    /// Takes a permit, waiting in line if necessary.
    void acquire() noexcept { layby_semaphore_wait(&semaphore_); }
    /// Takes that many together; until they have come, nobody behind gets any.
    void acquire(std::ptrdiff_t n)
    {
        if (const int error = layby_semaphore_wait_many(&semaphore_, checked(n)))
            detail::fail(error, "layby::counting_semaphore::acquire");
    }

    /// Takes a permit if there is one that nobody waits for. Never fails spuriously.
    [[nodiscard]] bool try_acquire() noexcept { return layby_semaphore_trywait(&semaphore_) == 0; }
    [[nodiscard]] bool try_acquire(std::ptrdiff_t n) { return layby_semaphore_trywait_many(&semaphore_, checked(n)) == 0; }

    /// Takes, waiting in line for so long at most.
    template <class Rep, class Period>
    [[nodiscard]] bool try_acquire_for(std::chrono::duration<Rep, Period> timeout, std::ptrdiff_t n = 1)
    {
        return try_acquire(n) || acquire_within(timeout, n) == wait_status::done;
    }

    /// Takes, waiting in line until then. With a clock other than steady_clock, one that has been set back meanwhile makes it wait
    /// again, at the end of the line.
    template <class Clock, class Duration>
    [[nodiscard]] bool try_acquire_until(std::chrono::time_point<Clock, Duration> deadline, std::ptrdiff_t n = 1)
    {
        for (;;) {
            const auto left = detail::time_left(deadline);
            if (try_acquire_for(left, n))
                return true;
            if (left <= left.zero() || detail::time_left(deadline) <= left.zero())
                return false;
        }
    }

    /// Takes, waiting in line until the limit is reached.
    [[nodiscard]] wait_status acquire_within(const limit &until, std::ptrdiff_t n = 1)
    {
        return detail::status_of(layby_semaphore_wait_within(&semaphore_, checked(n), until.deadline(), until.flag()),
                                 "layby::counting_semaphore::acquire_within");
    }

    /// Takes, and gives back when the guard is destroyed.
    [[nodiscard]] permit hold(std::ptrdiff_t n = 1)
    {
        n == 1 ? acquire() : acquire(n);
        return permit(semaphore_, checked(n));
    }
    [[nodiscard]] std::optional<permit> try_hold(std::ptrdiff_t n = 1)
    {
        return try_acquire(n) ? std::optional<permit>(std::in_place, semaphore_, checked(n)) : std::nullopt;
    }
    /// Nothing if the limit was reached first.
    [[nodiscard]] std::optional<permit> hold_within(const limit &until, std::ptrdiff_t n = 1)
    {
        return acquire_within(until, n) == wait_status::done ? std::optional<permit>(std::in_place, semaphore_, checked(n))
                                                             : std::nullopt;
    }

    /// How many permits could be taken, and how many are waited for, at this moment.
    [[nodiscard]] std::uint64_t available() const noexcept { return layby_semaphore_value(&semaphore_); }
    [[nodiscard]] std::uint64_t waiters() const noexcept { return layby_semaphore_waiters(&semaphore_); }

    [[nodiscard]] layby_semaphore_t *native_handle() noexcept { return &semaphore_; }

private:
    static constexpr std::ptrdiff_t max_ = std::numeric_limits<std::ptrdiff_t>::max() / 4;
    static_assert(static_cast<std::uint64_t>(max_) <= LAYBY_SEMAPHORE_MAX);

    static constexpr std::uint64_t checked(std::ptrdiff_t n)
    {
        if (n < 0 || n > max_)
            detail::fail(EINVAL, "layby::counting_semaphore: a number of permits");
        return static_cast<std::uint64_t>(n);
    }

    layby_semaphore_t semaphore_;
};

using binary_semaphore = counting_semaphore<1>;

/// Sleeps until the condition holds. Whoever makes it true calls wake_all with the same object afterwards. Its address is a name: usually
/// of the atomic that the condition reads. When the condition has said true it is not called again, so it may take what it waits for.
template <class Location, class Condition>
void wait_until(const Location &location, Condition &&condition)
{
    detail::carried carried(condition);
    (void)layby_wait_until(detail::address_of(location), decltype(carried)::call, &carried);
    carried.rethrow();
}

/// The same until the limit is reached: a time, a point of time, a cancel.
template <class Location, class Condition>
[[nodiscard]] wait_status wait_until(const Location &location, const limit &until, Condition &&condition)
{
    detail::carried carried(condition);
    const int result = layby_wait_until_within(detail::address_of(location), decltype(carried)::call, &carried,
                                               until.deadline(), until.flag());
    carried.rethrow();
    return detail::status_of(result, "layby::wait_until");
}

/// If the condition still holds, sleeps until one wake-up; may return early. For those whom wake_one is to wake one by one.
template <class Location, class Condition>
wait_status wait_if(const Location &location, Condition &&still, const limit &until = {})
{
    detail::carried carried(still);
    carried.stops_by_false();
    const int result = layby_wait_if(detail::address_of(location), decltype(carried)::call, &carried, until.deadline(), until.flag());
    carried.rethrow();
    return detail::status_of(result, "layby::wait_if");
}

/// Wakes all who wait on this object; returns how many.
template <class Location>
std::size_t wake_all(const Location &location) noexcept
{
    return layby_wake_all(detail::address_of(location));
}

/// Wakes the one that has waited longest by wait_if, and all who wait in other ways; returns how many.
template <class Location>
std::size_t wake_one(const Location &location) noexcept
{
    return layby_wake_one(detail::address_of(location));
}

/// A count that only grows, and threads that wait until it has reached a value.
class event_count {
public:
    constexpr event_count() noexcept = default;
    event_count(const event_count &) = delete;
    event_count &operator=(const event_count &) = delete;

    [[nodiscard]] std::uint64_t read() const noexcept { return layby_eventcount_read(&count_); }

    /// Adds to the count, wakes those whose value is reached, and returns it. Whoever has seen it may destroy the object.
    std::uint64_t advance(std::uint64_t steps = 1)
    {
        std::uint64_t now = 0;
        if (const int error = layby_eventcount_advance(&count_, steps, &now))
            detail::fail(error, "layby::event_count::advance");
        return now;
    }

    /// Waits until the count is at least so much: done, or closed before.
    [[nodiscard]] wait_status wait(std::uint64_t value) const
    {
        return detail::status_of(layby_eventcount_wait(&count_, value), "layby::event_count::wait");
    }
    [[nodiscard]] wait_status wait(std::uint64_t value, const limit &until) const
    {
        return detail::status_of(layby_eventcount_wait_within(&count_, value, until.deadline(), until.flag()),
                                 "layby::event_count::wait");
    }

    /// Lets all who wait return, and all who come later at once.
    void close() noexcept { layby_eventcount_close(&count_); }

    [[nodiscard]] layby_eventcount_t *native_handle() noexcept { return &count_; }

private:
    layby_eventcount_t count_ LAYBY_EVENTCOUNT_INIT;
};

/// A source of consecutive tickets.
class sequencer {
public:
    constexpr sequencer() noexcept = default;
    sequencer(const sequencer &) = delete;
    sequencer &operator=(const sequencer &) = delete;

    /// Draws so many consecutive tickets; returns the first.
    [[nodiscard]] std::uint64_t tickets(std::uint64_t n = 1)
    {
        std::uint64_t first = 0;
        if (const int error = layby_sequencer_tickets(&next_, n, &first))
            detail::fail(error, "layby::sequencer::tickets");
        return first;
    }

private:
    layby_sequencer_t next_ LAYBY_SEQUENCER_INIT;
};

}  // namespace layby

#endif
