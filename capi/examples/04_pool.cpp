// A pool of connections with timeouts, first come, first served: whoever has waited longest gets the next one, and permits go back by
// themselves. g++ -std=c++20 04_pool.cpp $(pkg-config --cflags --libs layby) -lpthread -o pool && ./pool
#include <layby.hpp>

#include <array>
#include <atomic>
#include <cstdio>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

namespace {

// Free numbers are bits of a word; the semaphore counts them and keeps the line.
class pool {
public:
    /// False if there was no connection in time.
    template <class Use>
    bool with_connection(const layby::limit &until, Use use)
    {
        const auto permit = permits_.hold_within(until);
        if (!permit)
            return false;
        const unsigned number = take_number();
        use(number);
        free_.fetch_or(1u << number); // and then the permit, which says that there is one
        return true;
    }

private:
    unsigned take_number()
    {
        for (unsigned free = free_;;) {
            const unsigned rest = free & (free - 1);
            if (free_.compare_exchange_weak(free, rest))
                return static_cast<unsigned>(__builtin_ctz(free));
        }
    }

    layby::counting_semaphore<> permits_{ 2 };
    std::atomic<unsigned> free_{ 0b11 };
};

}  // namespace

int main()
{
    pool connections;
    std::array<std::atomic<int>, 2> used{};
    std::vector<std::thread> clients;
    for (int i = 0; i < 4; i++)
        clients.emplace_back([&] {
            for (int n = 0; n < 1000; n++)
                if (!connections.with_connection(60s, [&](unsigned number) { used[number]++; }))
                    std::puts("no connection for a minute");
        });
    for (auto &client : clients)
        client.join();
    std::printf("%d requests\n", used[0] + used[1]);
    return used[0] + used[1] == 4000 ? 0 : 1;
}
