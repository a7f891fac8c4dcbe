"""The memory model of C++20, which is Rust's, for programs without loops: every execution that it allows, by enumeration.

An execution is a choice of a write for each read (reads-from) and of an order of all writes to each location
(modification order). It is allowed if, with the names of [intro.races] and [atomics.order]:

- happens-before (sequenced-before and synchronizes-with, the latter by release sequences of read-modify-writes and by
  fences) has no cycle, and no read or write contradicts it (the four coherence rules);
- a read-modify-write reads the write just before its own;
- there is a total order S of the SeqCst operations and fences that contains strongly-happens-before, and
  coherence-ordered-before as [atomics.order]/4 says: between two SeqCst operations on one location, and from and to SeqCst
  fences that happen before or after them.

Reads from the future are allowed where only the rule against values out of thin air would forbid them: the standard
states that rule as a recommendation.
"""

from itertools import permutations, product

RELEASE, ACQUIRE = {'Release', 'AcqRel', 'SeqCst'}, {'Acquire', 'AcqRel', 'SeqCst'}


# What a thread does. `then`, of a read, says from what was read whether the thread goes on. A `change` to None is a
# compare-and-swap that fails: there are no executions of that, so a test asks only for those in which it succeeds.
def load(location, order, then=None):
    return dict(kind='R', location=location, order=order, then=then)


def store(location, value, order):
    return dict(kind='W', location=location, value=value, order=order)


def update(location, change, order, then=None):
    return dict(kind='U', location=location, change=change, order=order, then=then)


def fence(order):
    return dict(kind='F', location=None, order=order)


class Relation:
    """Pairs of events, each event's successors as the bits of a number."""

    def __init__(self, size, pairs=()):
        self.size, self.rows = size, [0] * size
        for a, b in pairs:
            self.rows[a] |= 1 << b

    def has(self, a, b):
        return self.rows[a] >> b & 1

    def closed(self):
        rows = self.rows[:]
        for middle in range(self.size):
            for a in range(self.size):
                if rows[a] >> middle & 1:
                    rows[a] |= rows[middle]
        closed = Relation(self.size)
        closed.rows = rows
        return closed

    def is_acyclic(self):
        return not any(row >> event & 1 for event, row in enumerate(self.closed().rows))


def executions(initial, threads):
    """Yields what each thread reads, as one dictionary (thread, step) -> value, for every execution that is allowed."""
    for lengths in product(*(paths(thread) for thread in threads)):
        events = [dict(kind='W', location=location, value=value, order='Relaxed', thread=None, step=n)
                  for n, (location, value) in enumerate(initial.items())]
        for number, (thread, length) in enumerate(zip(threads, lengths)):
            events += [step | dict(thread=number, step=n) for n, step in enumerate(thread[:length])]
        yield from executions_of(events, threads, lengths)


def paths(thread):
    """How many of its steps a thread may do."""
    return sorted({len(thread)} | {n + 1 for n, step in enumerate(thread) if step.get('then')})


def executions_of(events, threads, lengths):
    size = len(events)
    reads = [e for e in range(size) if events[e]['kind'] in 'RU']
    writes = {}
    for e in range(size):
        if events[e]['kind'] in 'WU':
            writes.setdefault(events[e]['location'], []).append(e)
    sb = Relation(size, [(a, b) for a in range(size) for b in range(size) if a != b and (
        (events[a]['thread'] is None and events[b]['thread'] is not None)
        or (events[a]['thread'] == events[b]['thread'] is not None and events[a]['step'] < events[b]['step']))])
    # The first write of each location is that of its initial value.
    orders = [[(all_writes[0], *rest) for rest in permutations(all_writes[1:])] for all_writes in writes.values()]
    for mo in product(*orders):
        place = {e: n for order in mo for n, e in enumerate(order)}
        before = {order[n]: order[n - 1] for order in mo for n in range(1, len(order))}
        # A read-modify-write reads from the write before it: atomicity.
        choices = [[before[r]] if events[r]['kind'] == 'U' else writes[events[r]['location']] for r in reads]
        for sources in product(*choices):
            rf = dict(zip(reads, sources))
            values = values_of(events, rf)
            if values and follows(threads, lengths, events, values) and allowed(events, sb, mo, place, rf):
                yield {(events[r]['thread'], events[r]['step']): values[r] for r in reads}


def values_of(events, rf):
    """What each event reads."""
    read, written = {}, {e: event['value'] for e, event in enumerate(events) if event['kind'] == 'W'}
    for _ in events:
        for r, source in rf.items():
            if source in written:
                read[r] = written[source]
                if events[r]['kind'] == 'U':
                    written[r] = None if read[r] is None else events[r]['change'](read[r])
    return None if None in written.values() or len(read) < len(rf) else read


def follows(threads, lengths, events, values):
    """Whether each thread went as far as what it read told it to."""
    for e, event in enumerate(events):
        if event.get('then'):
            done = event['step'] + 1
            went_on = done < lengths[event['thread']]
            if went_on != bool(event['then'](values[e])) and done != len(threads[event['thread']]):
                return False
    return True


def allowed(events, sb, mo, place, rf):
    size = len(events)
    is_fence = [event['kind'] == 'F' for event in events]
    hb_pairs = [(a, b) for a in range(size) for b in range(size) if sb.has(a, b)]
    sw = synchronizes_with(events, sb, rf)
    hb = Relation(size, hb_pairs + sw).closed()
    # Coherence-ordered-before: reads-from, modification order, and reads before what overwrites them.
    same = [(a, b) for a in place for b in place if events[a]['location'] == events[b]['location'] and place[a] < place[b]]
    overwritten = [(r, w) for r, source in rf.items() for w in place
                   if w != r and events[w]['location'] == events[r]['location'] and place[w] > place[source]]
    cob = Relation(size, list((w, r) for r, w in rf.items()) + same + overwritten).closed()
    if any(hb.has(e, e) or cob.has(e, e) for e in range(size)):
        return False
    if any(hb.has(a, b) and cob.has(b, a) for a in range(size) for b in range(size)):
        return False
    sc = [e for e in range(size) if events[e]['order'] == 'SeqCst']
    # Strongly happens before, as far as SeqCst events go: sequenced-before, synchronizes-with between two of them, and
    # happens-before that begins and ends with a step of sequenced-before.
    strongly = [(a, b) for a, b in hb_pairs] + [(a, b) for a, b in sw if a in sc and b in sc] + [
        (a, b) for a in range(size) for b in range(size)
        if any(sb.has(a, x) and hb.has(x, y) and sb.has(y, b) for x in range(size) for y in range(size))]
    shb = Relation(size, strongly).closed()
    s = Relation(size, [(a, b) for a in sc for b in sc if shb.has(a, b)])
    firsts = {a: {e for e in sc if e == a or (is_fence[e] and hb.has(e, a))} for a in range(size)}
    lasts = {b: {e for e in sc if e == b or (is_fence[e] and hb.has(b, e))} for b in range(size)}
    for a in range(size):
        for b in range(size):
            if cob.has(a, b):
                for first in firsts[a]:
                    for last in lasts[b]:
                        s.rows[first] |= 1 << last
    return s.is_acyclic()


def synchronizes_with(events, sb, rf):
    """Pairs of a release, by a write or a fence before it, and an acquire, by a read or a fence after it."""
    pairs = []
    for r, source in rf.items():
        heads = [source]
        # The release sequences that the write read from belongs to.
        while events[heads[-1]]['kind'] == 'U':
            heads.append(rf[heads[-1]])
        releases = [e for head in heads for e in range(len(events)) if events[e]['order'] in RELEASE
                    and (e == head or (events[e]['kind'] == 'F' and sb.has(e, head)))]
        acquires = [e for e in range(len(events)) if events[e]['order'] in ACQUIRE
                    and (e == r or (events[e]['kind'] == 'F' and sb.has(r, e)))]
        pairs += [(a, b) for a in releases for b in acquires if a != b]
    return pairs
