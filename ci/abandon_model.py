#!/usr/bin/env python3
"""Explores every interleaving of the queue of tickets (src/ticket_queue), under sequential consistency. Shares no code with it.

Blind to: weak memory (tests/loom/ticket_queue.rs has that), the wrap of the counters, more threads than the cases have.

Shared: T (ticket), G (grant), A (alerts), cells (markers of spans of abandoned tickets). Each line is one atomic step.

take     K0  first = T; T += n
         K1  publish under the key `last`
         K2  G > last: taken
         K3  A != 0: find the marker that ends with first - 1 (here as below: and not more than its first granted, or a post is
             about to take it out). G > its first: take it out, P0 with its number -> K1.
             Otherwise sleep until woken -> K1; a timed take may give up instead, at any moment -> S1
try      R0  first = T
         R1  G > last, or it fails
         R2  compare-and-swap T from first to first + n: taken; otherwise -> R1 with the T that it found
unlock   H0  of a line of one permit, by the holder of ticket t: G = t + 2, a store; then C2 for t + 1
conservative post
         C0  g = G; A != 0: take out the marker that starts with g - 1, P0 with its number -> C0
         C1  compare-and-swap G from g to g + 1, or -> C0
         C2  wake ticket g; A != 0: find the marker that starts with g, and wake the ticket behind its last. T and G are
             not touched: the line may be gone, and another one be there
post     P0  g = G; G += n
         P1  g > T, or g == T and A == 0: nobody holds ticket g, and no marker is before it: done. (Only in a post.)
         P2  wake the tickets from g on, a step each
         P3  A == 0: done
         P4  take out all markers that start with one of these tickets, or with the one before; P0 with their number
settle   S1  G > first: P0 with the number of tickets
         S2  compare-and-swap T from last + 1 to first. It worked: take out the marker ending with first - 1 -> S1, or done
         S3  A != 0: take out a neighbouring marker; found: joined -> S1
         S4  A += 1;  claim a cell;  fill it
         S5  load G;  load T;  granted or last: take out the marker that starts with first -> S1, or done
         S6  A != 0: take out the marker that starts with last + 1 -> S1
         S7  A != 0: find the marker that ends with first - 1. There is one: take out the one that starts with first -> S1, or
             done
take out     for each cell: a step to look, a step to compare-and-swap (which fails if the cell changed), then A -= 1

There is no close to model: a queue has none. An EventCount has; tests/loom/eventcount.rs closes it. What a queue does besides,
to spin, to sleep in two stages and to wake the one who is near, moves none of the shared words.

Properties, of every state: no more permits taken than posted, so that a line of one permit excludes; a ticket is drawn behind
all that live; who takes leaves nobody waiting before it who is not granted too; no store undoes a grant. Of every state in
which nothing can happen any more: permits are conserved; no waiter sleeps though its permits are there; no marker is
granted or last in line, so that there is none when nobody waits, and then ticket <= grant; no alert without a marker.

Each mutant leaves one step out, or does two in the wrong order, and must be caught.
"""

import sys
import time
from collections import namedtuple

# `cell`: where a walk over the cells is; `sure`: the cell has not changed since the look; `then`: whom the walk is for.
Thread = namedtuple('Thread', 'role n pc first last cell sure then granted passed held own rung posted result')
State = namedtuple('State', 'T G A cells threads')
FORGOTTEN = dict(first=0, last=0, cell=0, sure=False, then='', granted=False, passed=0, held=(), own=(), rung=False)
FREE, CLAIMED = 'free', 'claimed'
WAITS = {'K1', 'K2', 'K3', 'asleep'}


# What is taken out to be passed over.
PASSES = {'granted', 'overrun', 'before mine'}
# What a walk over the cells is for, and whether it only looks: then the step that follows.
LOOKS = {'before mine': 'K4', 'behind': 'C3', 'before': 'S8'}


class Broken(Exception):
    pass


def thread(role, n):
    start = {'take': 'K0', 'timed': 'K0', 'try': 'R0', 'post': 'P0', 'conservative': 'C0', 'stale': 'C2',
             'lock': 'K0', 'timed lock': 'K0'}[role]
    fresh = Thread(role, n, start, 0, 0, 0, False, '', False, 0, (), (), False, 0, '')
    return fresh._replace(first=n, last=n) if role == 'stale' else fresh


def wanted(then, span, marker, granted):
    (first, last), (a, b) = span, marker
    # Not one of which more than the first is granted: a post is about to take that out.
    before = b == first - 1 and granted <= a + 1
    return {
        'ending': before, 'before': before, 'before mine': before,
        'neighbour': before or a == last + 1,
        'next': a == last + 1,
        'mine': a == first, 'behind': a == first,
        'overrun': a == first - 1,
        'granted': first - 1 <= a <= last,
    }[then]


def tickets_of(t):
    return t.own or (t.first, t.last)


def waits(t):
    return t.pc in WAITS or bool(t.own)


class Model:
    def __init__(self, threads, permits, mutant):
        self.permits, self.mutant = permits, mutant
        self.start = State(0, permits, 0, (FREE,), tuple(thread(*t) for t in threads))

    def steps(self, s):
        """The states that one step leads to."""
        nexts = []
        for i, t in enumerate(s.threads):
            step = getattr(self, 'at_' + t.pc, None)
            if step:
                for shared, mine in step(s, t):
                    threads = list(shared.threads)
                    threads[i] = t._replace(**(mine | FORGOTTEN if mine.get('pc') == 'done' else mine))
                    # Sorted, for it does not matter which of two equal threads is where.
                    nexts.append(self.checked(shared._replace(threads=tuple(sorted(threads)))))
        return nexts

    # take and try
    def at_K0(self, s, t):
        first, last = s.T, s.T + t.n - 1
        for other in s.threads:
            if waits(other) and tickets_of(other)[1] >= first:
                raise Broken('a ticket was drawn twice')
        pc = 'unpublished' if self.mutant == 'check before publish' else 'K1'
        yield s._replace(T=s.T + t.n), dict(pc=pc, first=first, last=last)

    def at_unpublished(self, s, t):
        yield s, dict(pc='done', result='taken') if s.G > t.last else dict(pc='late')

    def at_late(self, s, t):
        yield s, dict(pc='asleep')

    def at_K1(self, s, t):
        yield s, dict(pc='K2')

    def at_K2(self, s, t):
        if s.G > t.last:
            yield s, self.taken(s, t)
        else:
            yield s, dict(pc='K3') if self.mutant != 'nobody looks before him' else dict(pc='asleep')

    def at_K3(self, s, t):
        yield s, dict(pc='look', then='before mine', cell=0, own=(t.first, t.last)) if s.A else dict(pc='asleep')

    def at_K4(self, s, t):
        """The marker before ours has been found."""
        a, b = s.cells[t.cell] if t.sure else (0, 0)
        yield s, dict(pc='swap') if t.sure and s.G > a else self.not_found(t)

    @staticmethod
    def taken(s, t):
        if any(waits(o) and tickets_of(o)[0] < t.first and s.G <= tickets_of(o)[1] for o in s.threads):
            raise Broken('somebody was overtaken')
        return dict(pc='H0' if 'lock' in t.role else 'done', result='taken')

    def at_H0(self, s, t):
        if s.G > t.first + 1:
            raise Broken('a store undoes a grant')
        yield s._replace(G=t.first + 2), dict(pc='C2', first=t.first + 1, last=t.first + 1, cell=0, result='returned')

    def at_asleep(self, s, t):
        if t.role.startswith('timed'):
            yield s, dict(pc='S1')

    def at_R0(self, s, t):
        yield s, dict(pc='R1', first=s.T, last=s.T + t.n - 1)

    def at_R1(self, s, t):
        granted = s.G > t.last or self.mutant == 'try jumps the queue'
        yield s, dict(pc='R2') if granted else dict(pc='done', result='failed')

    def at_R2(self, s, t):
        if s.T == t.first:
            yield s._replace(T=s.T + t.n), self.taken(s, t)
        else:
            yield from self.at_R0(s, t)

    # post
    def at_C0(self, s, t):
        yield s, dict(pc='C1', first=s.G, last=s.G) if self.mutant == 'overruns' else dict(pc='C0A', first=s.G, last=s.G)

    def at_C0A(self, s, t):
        yield s, dict(pc='look', then='overrun', cell=0) if s.A else dict(pc='C1')

    def at_C1(self, s, t):
        if s.G == t.first or self.mutant == 'adds':
            yield s._replace(G=s.G + 1), dict(pc='C2', first=s.G, last=s.G, posted=1)
        else:
            yield s, dict(pc='C0')

    def at_C2(self, s, t):
        yield self.woken(s, t.first), dict(pc='C2A')

    def at_C2A(self, s, t):
        look = s.A and self.mutant != 'no conservative look'
        yield s, dict(pc='look', then='behind', cell=0) if look else self.not_found(t._replace(then='behind'))

    def at_C3(self, s, t):
        if not t.sure:
            # Gone since, or changed: into the hands of somebody who looks at G.
            yield s, self.not_found(t)
        else:
            yield self.woken(s, s.cells[t.cell][1] + 1), self.not_found(t)

    def woken(self, s, key):
        if self.mutant == 'no wake':
            return s
        threads = []
        for o in s.threads:
            if waits(o) and tickets_of(o)[1] == key:
                if o.pc in ('K2', 'K3', 'asleep'):
                    o = o._replace(pc='K1')
                elif o.own:
                    o = o._replace(rung=True)
            threads.append(o)
        return s._replace(threads=tuple(threads))

    def at_P0(self, s, t):
        first_time = t.role == 'post' and not t.posted
        n = t.n if first_time else t.passed
        checks = t.role == 'post' and first_time
        if self.mutant == 'ticket before grant' and checks and t.then != 'looked':
            yield s, dict(then='looked', granted=s.T > s.G)
            return
        mine = dict(pc='P1' if checks else 'P2', first=s.G, last=s.G + n - 1, cell=0, passed=0)
        if self.mutant == 'ticket before grant' and checks:
            mine['pc'] = 'P2' if t.granted else 'done'
        yield s._replace(G=s.G + n), mine | (dict(posted=n) if first_time else {})

    def at_P1(self, s, t):
        follows_a_marker = s.T == t.first and s.A and self.mutant != 'forget the last drawn'
        yield s, dict(pc='P2' if s.T > t.first or follows_a_marker else 'done')

    def at_P2(self, s, t):
        """Wakes the next of the tickets granted; `cell` counts them."""
        key = t.first + t.cell
        if self.mutant == 'wake the first only' and t.cell:
            key = t.first
        last = key >= t.last or self.mutant == 'wake the first only'
        yield self.woken(s, key), dict(pc='P3', cell=0) if last else dict(cell=t.cell + 1)

    def at_P3(self, s, t):
        look = s.A and self.mutant != 'no marker look'
        yield s, dict(pc='look', then='granted', cell=0) if look else self.not_found(t._replace(then='granted'))

    # settle
    def at_S1(self, s, t):
        if s.G > t.first:
            passed = 1 if self.mutant == 'pass over one' else t.last - t.first + 1
            yield s, dict(pc='P0', passed=passed)
        else:
            yield s, dict(pc='S2')

    def at_S2(self, s, t):
        if s.T == t.last + 1 or (self.mutant == 'give back from the middle' and s.T > t.last):
            skip = self.mutant == 'no give-back look'
            yield s._replace(T=t.first), dict(pc='done', result='left') if skip else dict(pc='alerts', then='ending')
        else:
            yield s, dict(pc='S3')

    def at_S3(self, s, t):
        yield from self.at_alerts(s, t._replace(then='neighbour'))

    def at_S4(self, s, t):
        late = self.mutant == 'late alert'
        if self.mutant == 'check before marker':
            leave = s.G <= t.first and s.T != t.last + 1
            yield s._replace(A=s.A + 1), dict(pc='claim', cell=0, then='left' if leave else '')
        else:
            yield s._replace(A=s.A + (not late)), dict(pc='claim', cell=0)

    def at_claim(self, s, t):
        if t.cell == len(s.cells):
            yield s._replace(cells=s.cells + (CLAIMED,)), dict(pc='fill')
        elif s.cells[t.cell] == FREE:
            yield self.put(s, t.cell, CLAIMED), dict(pc='fill')
        else:
            yield s, dict(cell=t.cell + 1)

    def at_fill(self, s, t):
        s = self.put(s, t.cell, (t.first, t.last))
        if t.then == 'left':
            yield s, dict(pc='done', result='left', then='', cell=0)
        else:
            yield s, dict(pc='S5', cell=0, then='')

    def at_S5(self, s, t):
        yield s, dict(pc='S5T', granted=s.G > t.first and self.mutant != 'no granted recheck')

    def at_S5T(self, s, t):
        is_last = s.T == t.last + 1 and self.mutant != 'no last recheck'
        s = s._replace(A=s.A + (self.mutant == 'late alert'))
        mine = dict(pc='alerts', then='mine') if t.granted or is_last else dict(pc='S6')
        yield s, mine | dict(granted=False)

    def at_S6(self, s, t):
        if self.mutant == 'no look behind':
            yield s, dict(pc='S7')
        else:
            yield from self.at_alerts(s, t._replace(then='next'))

    def at_S7(self, s, t):
        if self.mutant == 'no look before':
            yield s, dict(pc='done', result='left')
        else:
            yield from self.at_alerts(s, t._replace(then='before'))

    def at_S8(self, s, t):
        yield s, dict(pc='alerts', then='mine', sure=False)

    # Taking out a marker.
    def at_alerts(self, s, t):
        yield s, dict(pc='look', then=t.then, cell=0) if s.A else self.not_found(t)

    def at_look(self, s, t):
        if t.cell == len(s.cells):
            yield s, self.not_found(t)
            return
        marker = s.cells[t.cell]
        if marker in (FREE, CLAIMED) or not wanted(t.then, (t.first, t.last), marker, s.G):
            yield s, dict(cell=t.cell + 1)
        else:
            yield s, dict(pc=LOOKS.get(t.then, 'swap'), sure=True)

    def at_swap(self, s, t):
        if not t.sure:
            yield s, dict(pc='look', cell=t.cell + 1)
            return
        a, b = s.cells[t.cell]
        mine = dict(pc='lower', sure=False, cell=0)
        if t.then in PASSES:
            mine['held'] = (a, b)
        elif t.then == 'neighbour' and self.mutant != 'forget the joined':
            mine |= dict(first=min(a, t.first), last=max(b, t.last))
        else:
            mine |= dict(first=a, last=b)
        yield self.put(s, t.cell, FREE), mine

    def at_lower(self, s, t):
        yield s._replace(A=s.A - 1), dict(pc='P5' if t.then in PASSES else 'S1')

    def at_P5(self, s, t):
        a, b = t.held
        if s.G <= a:
            raise Broken('tickets were passed over that are not granted')
        passed = 1 if self.mutant == 'post passes one' else b - a + 1
        yield s, dict(pc='P3' if t.then == 'granted' else 'P0', passed=t.passed + passed, held=())

    @staticmethod
    def not_found(t):
        goes_on = dict(cell=0, then='', sure=False)
        if t.then == 'neighbour':
            return dict(pc='S4') | goes_on
        if t.then == 'next':
            return dict(pc='S7') | goes_on
        if t.then == 'overrun':
            return dict(pc='C1') | goes_on
        if t.then == 'granted' and t.passed:
            return dict(pc='P0') | goes_on
        if t.own:
            # Back to waiting, from the look for the marker before us or from what we have passed over.
            first, last = t.own
            again = t.rung or t.then != 'before mine'
            return goes_on | dict(pc='K1' if again else 'asleep', first=first, last=last, own=(), rung=False)
        if t.role == 'conservative' and not t.posted:
            return dict(pc='C0') | goes_on
        return dict(pc='done', cell=0, then='', result='posted' if t.posted else 'left')

    @staticmethod
    def put(s, cell, content):
        """Changes a cell; whoever has looked at it and not swapped yet will fail."""
        threads = tuple(o._replace(sure=False) if o.sure and o.cell == cell else o for o in s.threads)
        return s._replace(cells=s.cells[:cell] + (content,) + s.cells[cell + 1:], threads=threads)

    # Properties.
    def checked(self, s):
        if sum(t.n for t in s.threads if t.result == 'taken') > self.permits + sum(t.posted for t in s.threads):
            raise Broken('a permit was made')
        return s

    def at_rest(self, s):
        waiting = [t for t in s.threads if t.pc == 'asleep']
        markers = [c for c in s.cells if c != FREE]
        unowned = self.permits + sum(t.posted for t in s.threads) - sum(t.n for t in s.threads if t.result == 'taken')
        if any(t.pc not in ('done', 'asleep') for t in s.threads) or CLAIMED in markers:
            raise Broken('a thread is stuck')
        if waiting and unowned >= min(waiting, key=lambda t: t.first).n:
            raise Broken('a waiter sleeps though its permits are there')
        # Who waits for many, and cannot have them all yet, need not pass over what a conservative post has granted before it.
        may_stay = {t.first - 1 for t in waiting if t.n > 1}
        if any(a < s.G and b not in may_stay or b + 1 == s.T for a, b in markers) or (markers and not waiting):
            raise Broken('a marker is left')
        if not waiting and s.T > s.G:
            raise Broken('ticket > grant at rest')
        if s.G - s.T + sum(t.n for t in waiting) + sum(b - a + 1 for a, b in markers) != unowned:
            raise Broken('permits are not conserved')
        if s.A != len(markers):
            raise Broken('the alerts do not count the markers')


def explore(threads, permits=0, mutant=None):
    """Returns a verdict, and how many states were seen."""
    model = Model(threads, permits, mutant)
    seen, todo = {model.start}, [model.start]
    try:
        while todo:
            state = todo.pop()
            nexts = model.steps(state)
            if not any(t.pc != 'asleep' and hasattr(model, 'at_' + t.pc) for t in state.threads):
                model.at_rest(state)
            for after in nexts:
                if after not in seen:
                    seen.add(after)
                    todo.append(after)
    except Broken as broken:
        return str(broken), len(seen)
    return 'holds', len(seen)


def take(n=1):
    return 'take', n


def timed(n=1):
    return 'timed', n


def try_take(n=1):
    return 'try', n


def post(n=1):
    return 'post', n


def conservative():
    return 'conservative', 1


def stale(ticket):
    """A conservative post that has granted this ticket of a line that is gone; ours was made at its address."""
    return 'stale', ticket


LOCK, TIMED_LOCK = ('lock', 1), ('timed lock', 1)

# Threads, and the permits at the start.
CASES = [
    ([timed(), timed(), post()], 0),
    ([timed(), timed(), conservative()], 0),
    ([timed(), timed(), timed()], 0),
    ([timed(), take(), post(), post()], 0),
    ([timed(), try_take(), take(), post()], 0),
    ([timed(2), take(), conservative(), conservative()], 0),
    ([timed(), take(2), conservative(), conservative()], 0),
    ([timed(), take(2), conservative(), post()], 0),
    ([timed(), take(), post(), conservative()], 0),
    ([timed(), timed(), post(), conservative()], 0),
    ([timed(), timed(), take(), conservative()], 0),
    ([timed(2), take(), post(), post()], 0),
    ([timed(2), timed(3), post(2)], 1),
    ([timed(2), try_take(2), take(2), post(2)], 1),
    ([take(), timed(), take(), stale(1)], 0),
    ([timed(), timed(), stale(0), post()], 0),
    ([LOCK, TIMED_LOCK, LOCK], 1),
    ([TIMED_LOCK, TIMED_LOCK, LOCK], 1),
]

# The step that is spoilt, and a case that shows it.
MUTANTS = {
    'no wake': ([take(), post()], 0),
    'wake the first only': ([take(), take(), post(2)], 0),
    'check before publish': ([take(), post()], 0),
    'ticket before grant': ([take(), post()], 0),
    'no marker look': ([timed(), take(), post()], 0),
    'late alert': ([timed(), take(), post()], 0),
    'check before marker': ([timed(), take(), post()], 0),
    'no granted recheck': ([timed(), take(), post()], 0),
    'no look behind': ([timed(), timed(), take(), conservative()], 0),
    'no look before': ([timed(), timed(), take(), conservative()], 0),
    'no conservative look': ([timed(), take(), conservative()], 0),
    'nobody looks before him': ([timed(), take(), conservative()], 0),
    'overruns': ([timed(), take(), conservative(), conservative()], 0),
    'adds': ([timed(), take(), conservative(), conservative()], 0),
    'post passes one': ([timed(2), take(), post()], 0),
    'forget the last drawn': ([timed(), timed(), post(), conservative()], 0),
    'no last recheck': ([timed(), timed()], 0),
    'no give-back look': ([timed(), timed()], 0),
    'give back from the middle': ([timed(), take(), take()], 0),
    'pass over one': ([timed(2), take(), post()], 0),
    'try jumps the queue': ([take(), try_take(), post()], 0),
    'forget the joined': ([timed(), timed(), take(), post()], 0),
}

def main():
    bad = 0
    for threads, permits in CASES:
        start = time.monotonic()
        verdict, states = explore(threads, permits)
        bad += verdict != 'holds'
        names = ', '.join(f'{role} {n}' for role, n in threads)
        print(f'{names}; {permits} permits: {verdict} ({states} states, {time.monotonic() - start:.1f} s)', flush=True)
    for mutant, (threads, permits) in MUTANTS.items():
        verdict, _ = explore(threads, permits, mutant)
        sound, _ = explore(threads, permits)
        bad += verdict == 'holds' or sound != 'holds'
        print(f'mutant "{mutant}": ' + ('NOT CAUGHT' if verdict == 'holds' else f'caught: {verdict}'), flush=True)
    return bool(bad)


if __name__ == '__main__':
    sys.exit(main())
