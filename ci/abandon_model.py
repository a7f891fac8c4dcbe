#!/usr/bin/env python3
"""Explores every interleaving of the queue of tickets (src/ticket_queue), under sequential consistency. Shares no code with it.

Blind to: weak memory (tests/loom/ticket_queue.rs and litmus.py have that), the wrap of the counters, more threads than the
cases have.

Shared: T (ticket), G (grant), A (alerts), F (a conservative post may have granted a mark; stays true), cells. A cell is free, or
claimed, or has the marks of one block: a bit for each of its K places, and each is K^level tickets. Each line is one atomic step,
but for the searches.

take     K0  first = T; T += n
         K1  publish under the key `last`
         K2  G > last: taken. The same G as when it last looked (W): sleep until woken -> K1; a timed take may give up instead, at
             any moment -> S1
         W   A != 0; F: as S6, for first and the G that K2 saw; sleep
try      R0  first = T
         R1  G > last, or it fails
         R2  compare-and-swap T from first to first + n: taken; otherwise -> R1 with the T that it found
unlock   H0  of a line of one permit, by the holder of ticket t: G = t + 2, a store; then C2 for t + 1
conservative post
         C0  g = G; A != 0: take the run from g - 1 -> S1, then C0
         C1  compare-and-swap G from g to g + 1, or -> C0
         C2  wake ticket g; A != 0: F = true; search for g, then for the ticket behind the marks found in that cell, and so on,
             until there is no mark
         C3  wake that ticket. T and G are not touched: the line may be gone, and another one be there
post     P0  g = G; G += n
         P1  g > T, or g == T and A == 0: nobody holds ticket g, and there is no mark before it: done. (Only in a post.)
         P2  wake the tickets from g on, a step each. Of what S1 or P3 has granted: from the one behind those that were in hand
         P3  A != 0: take all marks of these tickets and of the one before, and those that follow the last directly in its cell;
             P0 with their number, if there are any
settle   S1  G > first: P0 with the number of tickets
         S2  compare-and-swap T from last + 1 to first. It worked: A != 0: take the run that ends with first - 1; if (a load of
             G) more than its first ticket is granted, only what is not -> S1, or done
         S4  mark them: the first piece, which is all that fits into one block of one level; what is left waits in hand, for its
             own S4. Search for the block's cell. If there is one: compare-and-swap, to the bits there and these. If that would be
             all, and (a load of G) none is granted: to none, they are in hand now -> S4 with the one bit of the level above. If
             there is no cell: A += 1; claim one; fill it. Then, for all tickets of the bits:
         S5  G > first: take the run from first -> S1, or done
         S6  A != 0; F; g = G: search for first - 1, then for the ticket before the marks found in that cell, and so on, until there
             is no mark: S7; or until there is one of g - 1. There is none of g - 2: take the run from g - 1 -> S1, and then S7
         S7  T == last + 1: take the run from first -> S1, or done
search   for each cell, in their order or against it: a step to look at it (its word, its fields, its word again)
take     search for it; compare-and-swap; failed: look at that cell again. Its last bit: A -= 1. The run from a ticket is its
         bit and those that follow it in that cell

The marks of a queue that is gone may be `left` at the address of one that has been moved there with tickets drawn: see
"Forgotten" in abandoned.rs. Of that one only the permits are looked at.

There is no close to model: a queue has none. An EventCount has; tests/loom/eventcount.rs closes it. What a queue does besides,
to spin, to sleep in two stages and to wake the one who is near, moves none of the shared words.

Properties, of every state: no more permits taken than posted, so that a line of one permit excludes; a ticket is drawn behind
all that live; who takes leaves nobody waiting before it who is not granted too; no store undoes a grant; no ticket has two
marks. Of every state in which nothing can happen any more: permits are conserved; no waiter sleeps though its permits are
there; no mark is granted or last in line, so that there is none when nobody waits, and then ticket <= grant; as many alerts as
cells in use.

Each mutant leaves one step out, or does two in the wrong order, and must be caught.
"""

import sys
import time
from collections import namedtuple

# `own`: the tickets that it waits for. `hands`: spans still to be marked. `t`, `cell`, `then`: what a search is for, where it is,
# and whom it is for; `seen`: what was in the cell. `piece`: level, block and bits to be marked. `marked`: the span that S7 is still
# to ask for. `end`: the last ticket in hand that is passed over. `looked`: the G of the last W.
Thread = namedtuple('Thread', 'role n pc own first last hands piece marked t cell then seen g passed end looked rung posted result')
State = namedtuple('State', 'T G A F cells threads')
Cell = namedtuple('Cell', 'level block bits')
FORGOTTEN = dict(own=(), first=0, last=0, hands=(), piece=(), marked=(), t=0, cell=0, then='', seen=(), g=0, passed=0,
                 end=-1, looked=-1, rung=False)
SEARCHED = dict(piece=(), t=0, cell=0, then='', seen=(), g=0)
FREE, CLAIMED = 'free', 'claimed'
START = {'take': 'K0', 'timed': 'K0', 'try': 'R0', 'post': 'P0', 'conservative': 'C0', 'stale': 'C2', 'lock': 'K0',
         'timed lock': 'K0', 'locked': 'H0'}


class Broken(Exception):
    pass


class Model:
    def __init__(self, case, mutant=None):
        self.mutant, self.K, self.backwards = mutant, case.K, case.backwards
        held = sum(t[0] == 'locked' for t in case.threads)
        self.start_grant = case.permits + case.gone + held
        threads = tuple(sorted(self.thread(*t) for t in case.threads))
        cells, A = [], 0
        for a, b in case.marks:
            while a <= b:
                level, block, bits, last = self.piece(a, b)
                cells.append(Cell(level, block, bits))
                a, A = last + 1, A + 1
        marked = sum(self.count(c) for c in cells)
        drawn = sum(t.n for t in threads if t.own) + marked + sum(t.role == 'locked' for t in threads)
        for a, b in case.left:
            cells.append(Cell(*self.piece(a, b)[:3]))
            A += 1
        self.permits, self.left = case.permits + held, case.left
        self.start = State(drawn + case.gone, self.start_grant, A, case.flagged, tuple(cells), threads)

    def thread(self, role, n, first=None):
        t = Thread(role, n, START[role], **FORGOTTEN, posted=0, result='')
        if role in ('stale', 'locked'):
            return t._replace(first=n, last=n, n=1, result='taken' if role == 'locked' else '')
        if first is not None:
            return t._replace(pc='asleep', own=(first, first + n - 1), looked=self.start_grant)
        return t

    # Marks and places.
    def piece(self, a, b):
        """Level, block and bits for the tickets from a to b, as many as one cell has room for; and the last of them."""
        level, size = 0, 1
        while a % (size * self.K) == 0 and a + size * self.K - 1 <= b:
            level, size = level + 1, size * self.K
        index = a // size
        n = min((b - a + 1) // size, self.K - index % self.K)
        return level, index // self.K, ((1 << n) - 1) << index % self.K, a + n * size - 1

    def size(self, level):
        return self.K ** level

    def bit_of(self, cell, t):
        """The number of the bit that ticket t has in this cell; -1: none."""
        if t < 0:
            return -1
        index = t // self.size(cell.level)
        bit = index % self.K
        return bit if index // self.K == cell.block and cell.bits >> bit & 1 else -1

    def run_from(self, cell, bit):
        bits = 0
        while cell.bits >> bit & 1:
            bits, bit = bits | 1 << bit, bit + 1
        return bits

    def run_to(self, cell, bit):
        bits = 0
        while bit >= 0 and cell.bits >> bit & 1:
            bits, bit = bits | 1 << bit, bit - 1
        return bits

    def span(self, cell, bits):
        size, at = self.size(cell.level), cell.block * self.K
        low, high = (bits & -bits).bit_length() - 1, bits.bit_length()
        return (at + low) * size, (at + high) * size - 1

    def count(self, cell):
        return bin(cell.bits).count('1') * self.size(cell.level)

    def tickets(self, cell):
        size = self.size(cell.level)
        return [(cell.block * self.K + bit) * size + i for bit in range(self.K) if cell.bits >> bit & 1 for i in range(size)]

    def steps(self, s):
        """The states that one step leads to."""
        nexts = []
        for i, t in enumerate(s.threads):
            if i and t == s.threads[i - 1]:
                continue
            step = getattr(self, 'at_' + t.pc, None)
            if step:
                for shared, mine in step(s, t):
                    threads = list(shared.threads)
                    threads[i] = t._replace(**(mine | FORGOTTEN if mine.get('pc') == 'done' else mine))
                    # Sorted, for it does not matter which of two equal threads is where.
                    threads.sort()
                    nexts.append(self.checked(shared._replace(threads=tuple(threads))))
        return nexts

    # take and try
    def at_K0(self, s, t):
        first, last = s.T, s.T + t.n - 1
        if any(o.own and o.own[1] >= first for o in s.threads):
            raise Broken('a ticket was drawn twice')
        pc = 'unpublished' if self.mutant == 'check before publish' else 'K1'
        yield s._replace(T=s.T + t.n), dict(pc=pc, own=(first, last))

    def at_unpublished(self, s, t):
        yield s, self.taken(s, t, *t.own) if s.G > t.own[1] else dict(pc='late')

    def at_late(self, s, t):
        yield s, dict(pc='asleep')

    def at_K1(self, s, t):
        yield s, dict(pc='K2', rung=False)

    def at_K2(self, s, t):
        if s.G > t.own[1]:
            yield s, self.taken(s, t, *t.own)
        elif s.G == t.looked or not 0 < s.G <= t.own[0] or self.mutant == 'nobody looks before him':
            yield s, self.over(t)
        else:
            looked = dict(looked=s.G) if self.mutant == 'has looked without a look' else {}
            yield s, looked | dict(pc='alerts', first=t.own[0], last=t.own[1]) | self.search('before', t.own[0] - 1, g=s.G)

    @staticmethod
    def taken(s, t, first, last):
        if any(o.own and o.own[0] < first and s.G <= o.own[1] for o in s.threads):
            raise Broken('somebody was overtaken')
        if 'lock' in t.role:
            return FORGOTTEN | dict(pc='H0', result='taken', first=first, last=last)
        return dict(pc='done', result='taken')

    def at_H0(self, s, t):
        if s.G > t.first + 1:
            raise Broken('a store undoes a grant')
        yield s._replace(G=t.first + 2), dict(pc='C2', first=t.first + 1, last=t.first + 1, result='returned')

    def at_asleep(self, s, t):
        if t.role.startswith('timed'):
            yield s, FORGOTTEN | dict(pc='S1', first=t.own[0], last=t.own[1])

    def at_R0(self, s, t):
        yield s, dict(pc='R1', first=s.T, last=s.T + t.n - 1)

    def at_R1(self, s, t):
        granted = s.G > t.last or self.mutant == 'try jumps the queue'
        yield s, dict(pc='R2') if granted else dict(pc='done', result='failed')

    def at_R2(self, s, t):
        if s.T == t.first:
            yield s._replace(T=s.T + t.n), self.taken(s, t, t.first, t.last)
        else:
            yield from self.at_R0(s, t)

    # post
    def at_C0(self, s, t):
        first = dict(first=s.G, last=s.G)
        if s.G == 0 or self.mutant == 'overruns':
            yield s, dict(pc='C1') | first
        else:
            yield s, dict(pc='alerts') | first | self.search('overrun', s.G - 1)

    def at_C1(self, s, t):
        if s.G == t.first or self.mutant == 'adds':
            yield s._replace(G=s.G + 1), dict(pc='C2', first=s.G, last=s.G, posted=1)
        else:
            yield s, dict(pc='C0')

    def at_C2(self, s, t):
        s = self.woken(s, t.first)
        yield s, self.over(t) if self.mutant == 'no conservative look' else dict(pc='alerts') | self.search('behind', t.first)

    def at_C3(self, s, t):
        s = s._replace(F=True)
        yield self.woken(s, t.t), self.over(t)

    def woken(self, s, key):
        if self.mutant == 'no wake':
            return s
        threads = []
        for o in s.threads:
            if o.own and o.own[1] == key:
                o = o._replace(pc='K1') if o.pc == 'asleep' else o._replace(rung=o.pc not in ('K1', 'unpublished', 'late'))
            threads.append(o)
        return s._replace(threads=tuple(threads))

    def at_P0(self, s, t):
        first_time = t.role == 'post' and not t.posted
        n = t.n if first_time else t.passed
        if self.mutant == 'ticket before grant' and first_time and t.then != 'looked':
            yield s, dict(then='looked', g=int(s.T > s.G))
            return
        first = s.G if first_time else max(s.G, t.end + 1)
        if not first_time and self.mutant == 'looks past who stands behind':
            first = s.G + n
        if not first_time and self.mutant == 'takes what others granted for its own':
            first = s.G + n - 1
        mine = dict(pc='P1' if first_time else 'P2', first=first, last=s.G + n - 1, cell=0, passed=0, end=-1)
        if self.mutant == 'ticket before grant' and first_time:
            mine |= dict(pc='P2' if t.g else 'done', then='', g=0)
        yield s._replace(G=s.G + n), mine | (dict(posted=n) if first_time else {})

    def at_P1(self, s, t):
        follows_a_mark = s.T == t.first and s.A and self.mutant != 'forget the last drawn'
        yield s, dict(pc='P2') if s.T > t.first or follows_a_mark else dict(pc='done', result='posted')

    def at_P2(self, s, t):
        """Wakes the next of the tickets granted; `cell` counts them."""
        key = t.first + t.cell
        if key < t.last and self.mutant != 'wake the first only':
            yield self.woken(s, key), dict(cell=t.cell + 1)
        elif self.mutant == 'no mark look':
            yield self.woken(s, key), self.over(t)
        else:
            yield self.woken(s, key), dict(pc='alerts') | self.search('granted', 0)

    # settle
    def at_S1(self, s, t):
        if s.G > t.first:
            yield s, dict(pc='P0', passed=1 if self.mutant == 'pass over one' else t.last - t.first + 1, end=t.last)
        else:
            yield s, dict(pc='S2')

    def at_S2(self, s, t):
        if s.T == t.last + 1 or (self.mutant == 'give back from the middle' and s.T > t.last):
            skip = self.mutant == 'no give-back look' or t.first == 0
            yield s._replace(T=t.first), self.over(t) if skip else dict(pc='alerts') | self.search('ending', t.first - 1)
        else:
            yield s, self.mark(t, t.first, t.last, t.hands)

    def at_S2G(self, s, t):
        t = t._replace(g=s.G)
        if not t.seen:
            yield s, dict(pc='look')
        else:
            yield s, dict(pc='swap', g=s.G) if self.taken_bits(t, t.seen) else self.over(t)

    def mark(self, t, first, last, hands):
        """S4: begins with the first piece of these."""
        level, block, bits, end = self.piece(first, last)
        if end < last and self.mutant != 'forgets the rest':
            hands = ((end + 1, last),) + hands
        mine = dict(first=first, last=end, hands=hands) | self.search('block', 0)
        return mine | dict(pc='check' if self.mutant == 'check before mark' else 'look', piece=(level, block, bits))

    def at_check(self, s, t):
        leave = s.G <= t.first and s.T != t.last + 1
        yield s, dict(pc='look', passed=-1 if leave else 0)

    def at_S4G(self, s, t):
        first = t.piece[1] * self.K * self.size(t.piece[0])
        yield s, dict(pc='set', then='granted block' if s.G > first else 'block')

    def at_set(self, s, t):
        level, block, bits = t.piece
        cell = s.cells[t.cell]
        if not self.is_sure(cell, t):
            yield s, dict(pc='look', then='block', seen=())
        elif cell.bits | bits == (1 << self.K) - 1 and t.then != 'granted block':
            first, last = self.span(cell, (1 << self.K) - 1)
            above = level + 1, block // self.K, 1 << block % self.K
            if self.mutant == 'forgets the joined':
                yield self.put(s, t.cell, FREE), dict(pc='lower')
            elif self.mutant == 'checks its own only':
                yield self.put(s, t.cell, FREE), dict(pc='lower', piece=above)
            elif self.mutant == 'marks above before it takes':
                yield s, dict(pc='raise', piece=above, hands=((t.cell, t.cell),), first=first, last=last)
            else:
                yield self.put(s, t.cell, FREE), dict(pc='lower', piece=above, first=first, last=last)
        else:
            yield self.put(s, t.cell, cell._replace(bits=cell.bits | bits)), self.marked(t)

    def at_raise(self, s, t):
        yield s._replace(A=s.A + (self.mutant != 'late alert')), dict(pc='claim')

    def at_claim(self, s, t):
        cell = s.cells.index(FREE) if FREE in s.cells else len(s.cells)
        yield s._replace(cells=s.cells[:cell] + (CLAIMED,) + s.cells[cell + 1:]), dict(pc='fill', cell=cell)

    def at_fill(self, s, t):
        s = self.put(s, t.cell, Cell(*t.piece))
        if self.mutant == 'marks above before it takes' and t.hands:
            old = t.hands[0][0]
            s = s._replace(A=s.A - 1)
            yield s._replace(cells=s.cells[:old] + (FREE,) + s.cells[old + 1:]), self.marked(t) | dict(hands=())
        else:
            yield s, self.marked(t)

    def marked(self, t):
        if t.passed == -1:
            return self.over(t) | dict(passed=0)
        if t.piece[0] and self.mutant == 'promotes without a check':
            return self.over(t)
        return SEARCHED | dict(pc='S5')

    def at_S5(self, s, t):
        if s.G > t.first and self.mutant != 'no granted recheck':
            yield self.raised_late(s), dict(pc='alerts') | self.search('mine', t.first)
        else:
            yield s, dict(pc='S6', marked=(t.first, t.last))

    def raised_late(self, s):
        return s._replace(A=s.A + (self.mutant == 'late alert'))

    def at_S6(self, s, t):
        look = self.mutant != 'no look before'
        yield self.raised_late(s), dict(pc='F') | self.search('before', t.first - 1) if look else self.over(t)

    def at_S6G(self, s, t):
        yield s, dict(pc='look', g=s.G) if 0 < s.G <= t.first else self.over(t)

    def at_S7(self, s, t):
        is_last = s.T == t.last + 1 and self.mutant != 'no last recheck'
        yield s, dict(pc='alerts') | self.search('mine', t.first) if is_last else self.over(t)

    # Searches.
    def search(self, then, ticket, **more):
        return SEARCHED | dict(then=then, t=ticket, cell=-1) | more

    def at_alerts(self, s, t):
        flag = {'before': 'F', 'behind': 'C2F'}.get(t.then, 'look')
        yield s, dict(pc=flag) if s.A else self.not_found(t)

    def at_C2F(self, s, t):
        yield s._replace(F=s.F or self.mutant != 'flags late'), dict(pc='look')

    def at_F(self, s, t):
        look = dict(pc='S6G') if t.marked else dict(pc='look', looked=t.g)
        yield s, look if s.F else self.over(t)

    def at_look(self, s, t):
        if not s.cells:
            yield s, self.not_found(t)
            return
        at = t.cell
        if at == -1:
            at = len(s.cells) - 1 if self.backwards else 0
        content = s.cells[at]
        if self.mutant == 'torn look' and t.then == 'behind' and content not in (FREE, CLAIMED):
            yield s, dict(pc='fields', cell=at, g=content.bits, seen=content)
        elif content in (FREE, CLAIMED) or not self.wanted(t, content):
            yield s, self.next_look(s, t, at)
        else:
            yield s, self.found(s, t, at, content)

    def at_fields(self, s, t):
        """The fields of whatever is in the cell by now."""
        content = s.cells[t.cell]
        if content in (FREE, CLAIMED):
            yield s, self.next_look(s, t, t.cell)
            return
        content = content._replace(bits=t.g)
        wanted = self.wanted(t, content)
        yield s, self.found(s, t, t.cell, content) | dict(seen=()) if wanted else self.next_look(s, t, t.cell)

    def next_look(self, s, t, at):
        at += -1 if self.backwards else 1
        return self.not_found(t) if at in (-1, len(s.cells)) else dict(pc='look', cell=at, seen=())

    def wanted(self, t, cell):
        if t.then == 'block':
            return t.piece[:2] == cell[:2]
        return bool(self.granted(t, cell)) if t.then == 'granted' else self.bit_of(cell, t.t) >= 0

    def granted(self, t, cell):
        """P3: the bits to take."""
        first = t.first if self.mutant == 'begins with the first' else t.first - 1
        bits = {self.bit_of(cell, ticket) for ticket in range(first, t.last + 1)} - {-1}
        return sum({1 << bit for bit in bits}) | self.run_from(cell, max(bits)) if bits else 0

    def found(self, s, t, at, cell):
        if t.then == 'block':
            fills = cell.bits | t.piece[2] == (1 << self.K) - 1 and self.mutant != 'promotes what others granted'
            return dict(pc='S4G' if fills else 'set', cell=at, seen=cell)
        if t.then == 'ending':
            return dict(pc='S2G', cell=at, seen=cell)
        if t.then == 'behind':
            _, last = self.span(cell, self.run_from(cell, self.bit_of(cell, t.t)))
            if self.mutant == 'walks one cell':
                return dict(pc='C3', t=last + 1)
            return dict(cell=-1, t=last + 1)
        if t.then == 'before':
            first, _ = self.span(cell, self.run_to(cell, self.bit_of(cell, t.t)))
            if first > t.g - 1:
                return self.over(t) if self.mutant == 'looks in one cell' else dict(cell=-1, t=first - 1)
            if first < t.g - 1 and self.mutant != 'passes over what others granted':
                return self.over(t)
            return dict(cell=-1, t=t.g - 2, then='beyond')
        if t.then == 'beyond' and self.mutant != 'passes over what others granted':
            return self.over(t)
        early = self.mutant == 'lowers early' and not cell.bits & ~self.taken_bits(t, cell)
        return dict(pc='early' if early else 'swap', cell=at, seen=cell)

    def at_early(self, s, t):
        yield s._replace(A=s.A - 1), dict(pc='lowered')

    def taken_bits(self, t, cell):
        if t.then == 'granted':
            return self.granted(t, cell)
        bit = self.bit_of(cell, t.t)
        if t.then != 'ending':
            return self.run_from(cell, bit)
        bits = self.run_to(cell, bit)
        if t.g > self.span(cell, bits)[0] + 1 and self.mutant != 'gives back what others granted':
            size = self.size(cell.level)
            bits &= ~sum(1 << i for i in range(self.K) if (cell.block * self.K + i) * size < t.g)
        return bits

    def not_found(self, t):
        if t.then == 'block':
            return dict(pc='raise', cell=0)
        if t.then == 'behind' and (t.t != t.first or self.mutant == 'flags late'):
            return dict(pc='C3')
        if t.then == 'beyond':
            return dict(pc='look', cell=-1, t=t.g - 1, then='reached')
        if t.then == 'overrun':
            return SEARCHED | dict(pc='C1')
        if t.then == 'granted' and t.passed:
            return SEARCHED | dict(pc='P0')
        return self.over(t)

    def over(self, t):
        """There is nothing in hand but what is still to be marked."""
        mine = SEARCHED | dict(first=0, last=0, passed=0, end=-1)
        if t.marked:
            return mine | dict(pc='S7', first=t.marked[0], last=t.marked[1], marked=())
        if t.hands:
            return mine | self.mark(t, *t.hands[0], t.hands[1:])
        if t.own:
            return mine | dict(pc='K1' if t.rung else 'asleep')
        if t.role == 'conservative' and not t.posted:
            return mine | dict(pc='C0')
        return dict(pc='done', result=t.result or ('posted' if t.posted else 'left'))

    # Taking.
    def is_sure(self, content, t):
        if self.mutant == 'no version':
            return content not in (FREE, CLAIMED) and content.bits == t.seen.bits
        return content == t.seen

    def at_swap(self, s, t):
        cell = s.cells[t.cell]
        if not self.is_sure(cell, t):
            s = s._replace(A=s.A + (t.pc == 'lowered'))
            yield s, self.next_look(s, t, t.cell) if self.mutant == 'swaps once' else dict(pc='look', seen=())
            return
        bits = self.taken_bits(t, cell)
        if t.then == 'granted':
            taken = 1 if self.mutant == 'post passes one' else self.count(cell._replace(bits=bits))
            mine = dict(passed=t.passed + taken, end=t.end if t.passed else self.span(cell, bits)[1])
        else:
            first, last = self.span(cell, bits)
            mine = dict(first=first, last=last)
        if t.then in ('granted', 'overrun', 'reached') and s.G <= self.span(cell, bits)[0]:
            raise Broken('tickets were passed over that are not granted')
        left = cell.bits & ~bits
        t = t._replace(**mine)
        if not left and t.pc == 'lowered':
            yield self.put(s, t.cell, FREE), mine | self.after_swap(s, t)
        elif not left:
            yield self.put(s, t.cell, FREE), mine | dict(pc='lower', seen=())
        else:
            yield self.put(s, t.cell, cell._replace(bits=left)), mine | self.after_swap(s, t)

    at_lowered = at_swap

    def at_lower(self, s, t):
        yield s._replace(A=s.A - 1), self.after_swap(s, t)

    def after_swap(self, s, t):
        if t.then == 'block':
            return dict(pc='look', cell=-1, seen=())
        if t.then == 'granted':
            return self.next_look(s, t, t.cell)
        # Whoever waits and has passed something on looks at G again.
        return SEARCHED | dict(pc='S1', rung=t.rung or bool(t.own))

    def put(self, s, cell, content):
        threads = s.threads
        if content != FREE and not self.left:
            before = 0 if s.cells[cell] in (FREE, CLAIMED) else s.cells[cell].bits
            added = set(self.tickets(content._replace(bits=content.bits & ~before)))
            if any(added.intersection(self.tickets(c)) for c in s.cells if c not in (FREE, CLAIMED)):
                raise Broken('a ticket has two marks')
        if content == FREE and self.mutant != 'no version':
            # The next claim has another version.
            threads = tuple(o._replace(seen=()) if o.seen and o.cell == cell else o for o in threads)
        return s._replace(cells=s.cells[:cell] + (content,) + s.cells[cell + 1:], threads=threads)

    # Properties.
    def checked(self, s):
        if sum(t.n for t in s.threads if t.result == 'taken') > self.permits + sum(t.posted for t in s.threads):
            raise Broken('a permit was made')
        return s

    def at_rest(self, s):
        waiting = [t for t in s.threads if t.pc == 'asleep']
        marks = {ticket for c in s.cells if c not in (FREE, CLAIMED) for ticket in self.tickets(c)}
        unowned = self.permits + sum(t.posted for t in s.threads) - sum(t.n for t in s.threads if t.result == 'taken')
        if any(t.pc not in ('done', 'asleep') for t in s.threads) or CLAIMED in s.cells:
            raise Broken('a thread is stuck')
        if self.left:
            return
        if waiting and unowned >= min(waiting, key=lambda t: t.own).n:
            raise Broken('a waiter sleeps though its permits are there')
        if (marks and not waiting) or s.T - 1 in marks:
            raise Broken('a mark is left')
        granted = sorted(mark for mark in marks if mark < s.G)
        if granted:
            # Who waits for many, and cannot have them all yet, need not pass over what a conservative post has granted before it.
            end = granted[0]
            while end in marks:
                end += 1
            if granted != [s.G - 1] or not any(t.own[0] == end and t.n > 1 for t in waiting):
                raise Broken('a mark is left')
        if not waiting and s.T > s.G:
            raise Broken('ticket > grant at rest')
        if s.G - s.T + sum(t.n for t in waiting) + len(marks) != unowned:
            raise Broken('permits are not conserved')
        if s.A != sum(c != FREE for c in s.cells):
            raise Broken('the alerts do not count the cells')


class Case:
    """Threads, and the permits at the start; tickets that are marked already; how many places a block has; F; whether the cells
    are searched against their order; how many tickets have been drawn elsewhere, and what another queue has left."""

    def __init__(self, threads, permits=0, marks=(), K=2, backwards=False, flagged=False, gone=0, left=()):
        self.threads, self.permits, self.marks, self.K, self.backwards = threads, permits, marks, K, backwards
        self.flagged, self.gone, self.left = flagged, gone, left

    def __str__(self):
        text = ', '.join(' '.join(map(str, t)) for t in self.threads) + f'; {self.permits} permits'
        text += ''.join(f', {a} to {b} marked' for a, b in self.marks)
        text += ', F' * self.flagged + ''.join(f', {a} to {b} left' for a, b in self.left)
        text += f', {self.gone} drawn elsewhere' if self.gone else ''
        return text + (f', blocks of {self.K}' if self.K != 2 else '') + (', backwards' if self.backwards else '')


def explore(case, mutant=None):
    """Returns a verdict, and how many states were seen."""
    model = Model(case, mutant)
    # Hashes of 61 bits: of a million states two have the same once in millions of runs.
    seen, todo = {hash(model.start)}, [model.start]
    try:
        while todo:
            state = todo.pop()
            nexts = model.steps(state)
            if not any(t.pc != 'asleep' and hasattr(model, 'at_' + t.pc) for t in state.threads):
                model.at_rest(state)
            for after in nexts:
                number = hash(after)
                if number not in seen:
                    seen.add(number)
                    todo.append(after)
    except Broken as broken:
        return str(broken), len(seen)
    return 'holds', len(seen)


# Threads that take have their first ticket, if they wait for it from the start.
def take(n=1, *first):
    return 'take', n, *first


def timed(n=1, *first):
    return 'timed', n, *first


def lock(*first):
    return 'lock', 1, *first


def timed_lock(*first):
    return 'timed lock', 1, *first


def try_take(n=1):
    return 'try', n


def post(n=1):
    return 'post', n


def conservative():
    return 'conservative', 1


def locked(ticket):
    """Who has the one permit."""
    return 'locked', ticket


def stale(ticket):
    """A conservative post that has granted this ticket of a line that is gone; ours was made at its address."""
    return 'stale', ticket


CASES = [
    Case([timed(), timed(), post()]),
    Case([timed(), timed(), conservative()]),
    Case([timed(), timed(), timed()]),
    Case([timed(), take(), post(), post()]),
    Case([timed(), try_take(), take(), post()]),
    Case([timed(2), take(), conservative(), conservative()]),
    Case([timed(), take(2), conservative(), conservative()]),
    Case([timed(), take(2), conservative(), post()]),
    Case([timed(), take(), post(), conservative()]),
    Case([timed(), timed(), post(), conservative()]),
    Case([timed(), timed(), take(), conservative()]),
    Case([timed(), timed(), take(), conservative()], flagged=True),
    Case([timed(2), take(), post(), post()]),
    Case([timed(2), timed(3), post(2)], 1),
    Case([timed(2), try_take(2), take(2), post(2)], 1),
    Case([take(), timed(), take(), stale(1)]),
    Case([timed(), timed(), stale(0), post()]),
    Case([lock(), timed_lock(), lock()], 1),
    Case([timed_lock(), timed_lock(), lock()], 1),
    # Two or three beside each other, and behind a mark: bits set in a cell, blocks that are filled, walks over several cells.
    Case([timed(1, 0), timed(1, 1), take(1, 2), conservative()]),
    Case([timed(1, 0), timed(1, 1), take(1, 2), conservative()], backwards=True),
    Case([timed(1, 0), timed(1, 1), take(1, 2), conservative()], K=4),
    Case([timed(1, 0), timed(1, 1), take(1, 2), post(2)]),
    Case([timed(1, 0), timed(1, 1), timed(1, 2), post(2)]),
    Case([timed(1, 1), timed(1, 2), take(1, 3), conservative()], marks=[(0, 0)]),
    Case([timed(1, 1), timed(1, 2), take(1, 3), conservative()], marks=[(0, 0)], flagged=True, backwards=True),
    Case([timed(1, 1), timed(1, 2), take(1, 3), post(2)], marks=[(0, 0)]),
    Case([timed(1, 1), timed(1, 2), take(1, 3), post(2)], marks=[(0, 0)], K=4),
    # Spans of several blocks.
    Case([timed(3, 1), take(1, 4), conservative(), conservative()], marks=[(0, 0)]),
    Case([timed(3, 1), take(1, 4), post(2)], marks=[(0, 0)]),
    Case([timed(2, 1), timed(3, 3), post(3)], marks=[(0, 0)]),
    # Locks whose holder gives up what others wait behind.
    Case([locked(0), timed_lock(1), timed_lock(2), lock(3)]),
    Case([locked(0), timed_lock(2), timed_lock(3), lock(4)], marks=[(1, 1)], backwards=True),
    # What another queue has left.
    Case([timed(2), take(), take()], gone=2, left=[(0, 1)], flagged=True, K=4),
    Case([timed(), timed(), take()], gone=2, left=[(0, 1)], flagged=True, K=4),
]

BESIDE = [timed(1, 0), timed(1, 1), take(1, 2), post()]
BEHIND = [timed(1, 1), timed(1, 2), take(1, 3), conservative()]

# The step that is spoilt, and a case that shows it.
MUTANTS = {
    'no wake': Case([take(), post()]),
    'wake the first only': Case([take(), take(), post(2)]),
    'check before publish': Case([take(), post()]),
    'ticket before grant': Case([take(), post()]),
    'try jumps the queue': Case([take(), try_take(), post()]),
    'no mark look': Case([timed(), take(), post()]),
    'begins with the first': Case([timed(), timed(), post(), conservative()]),
    'forget the last drawn': Case([timed(), timed(), post(), conservative()]),
    'looks past who stands behind': Case([timed(), take(), post()]),
    'takes what others granted for its own': Case([take(1, 2), take(1, 3), post(), post()], marks=[(0, 1)]),
    'post passes one': Case([timed(2), take(), post()]),
    'overruns': Case([timed(), take(), conservative(), conservative()]),
    'adds': Case([timed(), take(), conservative(), conservative()]),
    'no conservative look': Case([timed(), take(), conservative()]),
    'walks one cell': Case(BEHIND, marks=[(0, 0)]),
    'torn look': Case([take(1, 2), timed(1, 3), timed(1, 5), conservative()], marks=[(0, 1), (4, 4)]),
    'flags late': Case([timed(1, 0), timed(1, 1), take(1, 2), conservative()]),
    'has looked without a look': Case([timed(), take(), conservative()]),
    'nobody looks before him': Case([timed(), take(), conservative()]),
    'pass over one': Case([timed(2), take(), post()]),
    'no give-back look': Case([timed(), timed()]),
    'give back from the middle': Case([timed(), take(), take()]),
    'gives back what others granted': Case([timed(), timed(), take()], gone=2, left=[(0, 1)], K=4),
    'late alert': Case([timed(), take(), post()]),
    'check before mark': Case([timed(), take(), post()]),
    'forgets the rest': Case([timed(3, 1), take(1, 4), conservative()], marks=[(0, 0)]),
    'forgets the joined': Case(BESIDE),
    'marks above before it takes': Case(BESIDE),
    'promotes without a check': Case(BESIDE),
    'checks its own only': Case([timed(1, 0), timed(1, 1), timed(1, 2)]),
    'promotes what others granted': Case([timed(2), take(), take()], gone=2, left=[(0, 1)], K=4),
    'no granted recheck': Case([timed(), take(), post()]),
    'no look before': Case([timed(1, 0), timed(1, 1), take(1, 2), conservative()]),
    'looks in one cell': Case(BEHIND, marks=[(0, 0)]),
    'passes over what others granted': Case([timed()], gone=2, left=[(0, 1)], flagged=True),
    'no last recheck': Case([timed(), timed()]),
    'swaps once': Case([take(1, 1), timed(1, 2), take(1, 3), post()], marks=[(0, 0)], K=4),
    'no version': Case([timed(1, 1), timed(1, 2), take(1, 3), post()], marks=[(0, 0)]),
    'lowers early': Case([take(1, 1), timed(1, 2), take(1, 3), post(), post(2)], marks=[(0, 0)], K=4),
}


def main():
    bad, verdicts = 0, {}
    for case in CASES:
        start = time.monotonic()
        verdict, states = explore(case)
        bad += verdict != 'holds'
        verdicts[str(case)] = verdict
        print(f'{case}: {verdict} ({states} states, {time.monotonic() - start:.1f} s)', flush=True)
    for mutant, case in MUTANTS.items():
        verdict, _ = explore(case, mutant)
        sound = verdicts.get(str(case)) or explore(case)[0]
        verdicts[str(case)] = sound
        bad += verdict == 'holds' or sound != 'holds'
        found = 'NOT CAUGHT' if verdict == 'holds' else f'caught: {verdict}'
        print(f'mutant "{mutant}": ' + found + ('' if sound == 'holds' else f'; WITHOUT IT: {sound}'), flush=True)
    return bool(bad)


if __name__ == '__main__':
    sys.exit(main())
