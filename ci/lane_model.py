#!/usr/bin/env python3
"""Explores every interleaving of a lane's sleepers and its writer (src/pipeline/ring/lane.rs), with and without a store buffer.

What loom has no time for: two readers who sleep for one lane again and again, and change places more than twice. Shares no code with the
crate. Each line is one atomic step; with a store buffer, as x86 has it, the writer's stores come later than it thinks, one by one.

writer   M0  there is room: count = v
         M1  the light fence is free here; wanted <= v? no: M0 with v + 1
         M2  wanted = NOBODY
         M3  resets += 1: a locked instruction, which empties the store buffer
         M4  fence B; wake all on the chain -> M0 with v + 1
reader   R0  count >= k: work, and R0 with k + 1
         R1  r = resets
         R2  wanted = min(wanted, k)
         R3  heavy fence: empties the writer's store buffer
         R4  count >= k: R0
         R5  resets != r: R0
         R6  publish; fence A
         R7  count >= k: withdraw -> R0
         R8  resets != r: withdraw -> R0
         R9  sleep until woken -> R0

Property: nobody is stuck before all have had all entries. And it must fail without what the protocol says is needed.
"""

import sys
from collections import deque, namedtuple

NOBODY = 99
COUNT, WANTED, RESETS = range(3)

State = namedtuple('State', 'words chain notified done writer readers buffer')
Reader = namedtuple('Reader', 'at wants resets')

BROKEN = {
    'nothing': 'the protocol as it is',
    'asks_what_is_wanted': 'R5 and R8 ask whether wanted is more than k',
    'asks_nothing': 'R5 and R8 are left out',
    'counts_after_the_wake': 'M3 comes after M4',
    'no_heavy_fence': 'R3 does nothing',
    'no_fence_b': 'M3 and M4 do not empty the store buffer',
}


def stored(words, stores):
    words = list(words)
    for place, value in stores:
        words[place] = value
    return tuple(words)


class Lane:
    def __init__(self, broken, buffered, entries, readers):
        self.broken, self.buffered, self.entries, self.count = broken, buffered, entries, readers

    def start(self):
        return State((0, NOBODY, 0), frozenset(), frozenset(), (0,) * self.count, (0, 1),
                     (Reader(0, 1, 0),) * self.count, ())

    def store(self, state, place, value, writer):
        if self.buffered:
            return state._replace(buffer=state.buffer + ((place, value),), writer=writer)
        return state._replace(words=stored(state.words, [(place, value)]), writer=writer)

    def flushed(self, state):
        return state._replace(words=stored(state.words, state.buffer), buffer=())

    def write(self, state):
        (at, v), own = state.writer, stored(state.words, state.buffer)
        fenced = state if self.broken == 'no_fence_b' else self.flushed(state)
        late = self.broken == 'counts_after_the_wake'
        if v > self.entries:
            return
        if at == 0 and (v == 1 or min(state.done) >= v - 1):
            yield self.store(state, COUNT, v, (1, v))
        elif at == 1:
            yield state._replace(writer=(2, v) if own[WANTED] <= v else (0, v + 1))
        elif at == 2:
            yield self.store(state, WANTED, NOBODY, (4 if late else 3, v))
        elif at == 3:
            counted = self.store(state, RESETS, own[RESETS] + 1, (0, v + 1) if late else (4, v))
            yield counted if self.broken == 'no_fence_b' else self.flushed(counted)
        elif at == 4:
            yield fenced._replace(chain=frozenset(), notified=state.notified | state.chain,
                                  writer=(3, v) if late else (0, v + 1))

    def is_forgotten(self, state, reader):
        if self.broken == 'asks_what_is_wanted':
            return state.words[WANTED] > reader.wants
        return self.broken != 'asks_nothing' and state.words[RESETS] != reader.resets

    def read(self, state, i):
        reader = state.readers[i]
        at, k, resets = reader
        if k > self.entries:
            return

        def to(at, state=state, **changes):
            reader = state.readers[i]._replace(at=at, **changes)
            return state._replace(readers=state.readers[:i] + (reader,) + state.readers[i + 1:])

        def again():
            off = state._replace(chain=state.chain - {i}, notified=state.notified - {i})
            return to(0, off, resets=0)

        has_come = state.words[COUNT] >= k
        if at == 0 and has_come:
            done = state.done[:i] + (k,) + state.done[i + 1:]
            yield to(0, state._replace(done=done), wants=k + 1, resets=0)
        elif at == 0:
            yield to(1)
        elif at == 1:
            yield to(2, resets=state.words[RESETS])
        elif at == 2:
            words = stored(state.words, [(WANTED, min(state.words[WANTED], k))])
            yield to(3, state._replace(words=words))
        elif at == 3:
            yield to(4, state if self.broken == 'no_heavy_fence' else self.flushed(state))
        elif at in (4, 7):
            yield again() if has_come else to(at + 1)
        elif at in (5, 8):
            yield again() if self.is_forgotten(state, reader) else to(at + 1)
        elif at == 6:
            yield to(7, state._replace(chain=state.chain | {i}))
        elif at == 9 and i in state.notified:
            yield again()

    def next_of(self, state):
        if state.buffer:
            yield state._replace(words=stored(state.words, state.buffer[:1]), buffer=state.buffer[1:])
        yield from self.write(state)
        for i in range(self.count):
            yield from self.read(state, i)

    def explore(self):
        """How many states there are, and one in which somebody is stuck."""
        seen, queue = {self.start()}, deque([self.start()])
        while queue:
            state = queue.popleft()
            following = list(self.next_of(state))
            all_done = state.writer[1] > self.entries and min(state.done) == self.entries
            if not following and not all_done:
                return len(seen), state
            for after in following:
                if after not in seen:
                    seen.add(after)
                    queue.append(after)
        return len(seen), None


CASES = [(False, 2, 2), (True, 2, 2), (False, 3, 2), (True, 3, 2), (False, 2, 3)]


def main():
    failed = False
    for broken, what in BROKEN.items():
        stuck = None
        for buffered, entries, readers in CASES:
            states, stuck = Lane(broken, buffered, entries, readers).explore()
            if broken == 'nothing':
                verdict = 'ok' if stuck is None else f'stuck: {stuck}'
                print(f'{what}; {readers} readers, {entries} entries{", a store buffer" * buffered}: {states} states, {verdict}')
                failed |= stuck is not None
            elif stuck:
                break
        if broken != 'nothing':
            print(f'{broken} ({what}): {"stuck, as it should be" if stuck else "NOT FOUND"}')
            failed |= stuck is None
    sys.exit(failed)


if __name__ == '__main__':
    main()
