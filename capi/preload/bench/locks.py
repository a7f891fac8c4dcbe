"""Python's locks, which are sem_t on Linux: nanoseconds of wall clock and of CPU for each operation, one game a line.

    python3 locks.py [GAME [OPERATIONS]]
"""

import queue
import resource
import sys
import threading
import time


def run(*functions):
    threads = [threading.Thread(target=function) for function in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def ping_pong(operations):
    """Two threads hand over to each other, by two locks."""
    ping, pong = threading.Lock(), threading.Lock()
    ping.acquire()
    pong.acquire()

    def play(mine, other):
        for _ in range(operations // 2):
            mine.acquire()
            other.release()

    ping.release()
    run(lambda: play(ping, pong), lambda: play(pong, ping))


def uncontended(operations):
    """One thread, one lock."""
    lock = threading.Lock()
    for _ in range(operations):
        lock.acquire()
        lock.release()


def contended(operations):
    """Four threads, one lock."""
    lock = threading.Lock()

    def play():
        for _ in range(operations // 4):
            with lock:
                pass

    run(play, play, play, play)


def bounded_queue(operations):
    """A producer and a consumer, and a queue of 16 entries: a lock and two conditions."""
    entries = queue.Queue(16)

    def produce():
        for number in range(operations):
            entries.put(number)

    def consume():
        for _ in range(operations):
            entries.get()

    run(produce, consume)


GAMES = {
    "ping_pong": (ping_pong, 40_000),
    "uncontended": (uncontended, 2_000_000),
    "contended": (contended, 1_000_000),
    "bounded_queue": (bounded_queue, 100_000),
}


def cpu():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def main():
    names = sys.argv[1:2] or GAMES
    for name in names:
        game, operations = GAMES[name]
        operations = int(sys.argv[2]) if len(sys.argv) > 2 else operations
        wall, busy = time.perf_counter(), cpu()
        game(operations)
        wall, busy = time.perf_counter() - wall, cpu() - busy
        print(f"{name} {wall / operations * 1e9:.0f} {busy / operations * 1e9:.0f}", flush=True)


main()
