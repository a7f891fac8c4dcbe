//! Which caches hold which line: MESI, with a queue for each line.
//!
//! | state | holders | `exclusive` | `dirty` |
//! |---|---|---|---|
//! | Modified | one | yes | yes |
//! | Exclusive | one | yes | no |
//! | Shared | one or more | no | no |
//! | Invalid, everywhere | none | | |
//!
//! | access | finds | costs | counts |
//! |---|---|---|---|
//! | load | a copy of its own | `hit` | a hit |
//! | | it exclusive elsewhere | `transfer`; the line is busy for as long | a miss, a line moved |
//! | | it shared elsewhere | `transfer`; the line is busy for `share` | a miss, a line moved |
//! | | it nowhere | `memory`; the line is busy for as long | a miss, a line moved |
//! | store, update | it exclusive, its own | `hit`, and `update` for an update | a hit |
//! | | it shared, a copy of its own | as below, but nothing moves | a miss, an invalidation for each other copy |
//! | | it elsewhere | `transfer`, and `invalidation` for each copy; busy for as long | a miss, a line moved, the invalidations |
//!
//! A request for a busy line waits in its queue. Caches have no limit: a line leaves one only when it is invalidated.

use super::{Costs, Machine, Operation, Tally, cpu_set::CpuSet};
use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasherDefault, Hasher};
use std::ops::Range;

#[derive(Default)]
struct Line {
    holders: CpuSet,
    exclusive: bool,
    dirty: bool,
    busy_until: u64,
    /// When each pending request will be answered.
    queue: VecDeque<u64>,
    /// Since the counts were last restarted, like `visitors`.
    tally: Tally,
    visitors: CpuSet,
}

/// What an access did.
pub(super) struct Access {
    pub(super) done_at: u64,
    pub(super) tally: Tally,
    /// How many requests for the line were in flight, including this one.
    pub(super) queue: u64,
}

/// All lines that have been accessed.
pub(super) struct Directory {
    lines: HashMap<usize, Line, BuildHasherDefault<LineHasher>>,
    costs: Costs,
    cpus: usize,
    sockets: usize,
    line_bytes: usize,
}

impl Directory {
    pub(super) fn new(machine: &Machine) -> Self {
        let Machine { cpus, sockets, line_bytes, costs } = *machine;
        Self { lines: HashMap::default(), costs, cpus, sockets, line_bytes }
    }

    /// Performs an operation of `cpu` at time `now`: updates the line's state and returns what it cost.
    pub(super) fn access(&mut self, cpu: usize, address: usize, operation: Operation, now: u64) -> Access {
        let Self { ref mut lines, costs, cpus, sockets, line_bytes } = *self;
        let socket = |cpu: usize| cpu * sockets / cpus;
        let line = lines.entry(address / line_bytes).or_default();
        line.visitors.insert(cpu);
        let held = line.holders.contains(cpu);
        let writes = operation != Operation::Load;
        let work = if operation == Operation::Update { costs.update } else { 0 };
        if held && (line.exclusive || !writes) {
            line.dirty |= writes;
            line.tally.hits += 1;
            let tally = Tally { hits: 1, ..Tally::default() };
            return Access { done_at: now + costs.hit + work, tally, queue: 0 };
        }
        let others = line.holders.without(cpu);
        let distance = |far: bool| if far { costs.transfer_between_sockets } else { costs.transfer };
        let mut tally = Tally { misses: 1, moved: u64::from(!held), ..Tally::default() };
        let (latency, busy) = if line.holders.is_empty() {
            (costs.memory, costs.memory)
        } else if writes {
            tally.invalidations = others.len() as u64;
            tally.crossed = u64::from(!held && others.iter().all(|other| socket(other) != socket(cpu)));
            let far = others.iter().any(|other| socket(other) != socket(cpu));
            let latency = distance(far) + costs.invalidation * tally.invalidations;
            (latency, latency)
        } else {
            let far = others.iter().all(|other| socket(other) != socket(cpu));
            tally.crossed = u64::from(far);
            let latency = distance(far);
            (latency, if line.exclusive { latency } else { costs.share })
        };
        line.exclusive = writes || line.holders.is_empty();
        line.dirty = writes;
        if writes {
            line.holders = CpuSet::default();
        }
        line.holders.insert(cpu);
        line.tally += tally;

        let start = now.max(line.busy_until);
        line.busy_until = start + busy;
        while line.queue.front().is_some_and(|&done_at| done_at <= now) {
            line.queue.pop_front();
        }
        line.queue.push_back(start + latency);
        Access { done_at: start + latency + work, tally, queue: line.queue.len() as u64 }
    }

    fn within(&self, addresses: Range<usize>) -> impl Iterator<Item = (usize, &Line)> {
        let bytes = self.line_bytes;
        let overlaps = move |line: usize| line * bytes < addresses.end && (line + 1) * bytes > addresses.start;
        self.lines.iter().filter(move |&(&line, _)| overlaps(line)).map(|(&line, state)| (line, state))
    }

    /// What was done to the lines of these addresses since the counts were restarted.
    pub(super) fn tally_of(&self, addresses: Range<usize>) -> Tally {
        self.within(addresses).fold(Tally::default(), |sum, (_, line)| sum + line.tally)
    }

    /// The lines of these addresses that were used since the counts were restarted, each with the CPUs that used it.
    pub(super) fn visitors_of(&self, addresses: Range<usize>) -> Vec<Vec<usize>> {
        let mut lines: Vec<_> = self.within(addresses).filter(|(_, line)| !line.visitors.is_empty()).collect();
        lines.sort_unstable_by_key(|&(line, _)| line);
        lines.into_iter().map(|(_, line)| line.visitors.iter().collect()).collect()
    }

    pub(super) fn restart_counts(&mut self) {
        for line in self.lines.values_mut() {
            line.tally = Tally::default();
            line.visitors = CpuSet::default();
        }
    }
}

/// Good enough for line numbers. The standard hasher would take most of the simulation's time.
#[derive(Default)]
struct LineHasher(u64);

impl Hasher for LineHasher {
    fn write(&mut self, _: &[u8]) {
        unreachable!("only line numbers are hashed");
    }

    fn write_usize(&mut self, line: usize) {
        self.0 = (line as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(26);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Operation::{Load, Store, Update};
    use State::{Exclusive, Invalid, Modified, Shared};

    const HERE: usize = 0x1000;

    fn directory() -> Directory {
        Directory::new(&Machine::new(4))
    }

    /// The state of a line in one cache.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    enum State {
        Modified,
        Exclusive,
        Shared,
        Invalid,
    }

    fn states(directory: &Directory) -> [State; 3] {
        let line = &directory.lines[&(HERE / directory.line_bytes)];
        [0, 1, 2].map(|cpu| match (line.holders.contains(cpu), line.exclusive, line.dirty) {
            (false, ..) => Invalid,
            (true, false, _) => Shared,
            (true, true, false) => Exclusive,
            (true, true, true) => Modified,
        })
    }

    /// Every transition of MESI, with its counts.
    #[test]
    fn mesi() {
        let mut directory = directory();
        let none = Tally::default();
        let hit = Tally { hits: 1, ..none };
        let miss = Tally { misses: 1, moved: 1, ..none };
        let steps = [
            (0, Load, miss, [Exclusive, Invalid, Invalid]),
            (0, Load, hit, [Exclusive, Invalid, Invalid]),
            (0, Store, hit, [Modified, Invalid, Invalid]),
            (0, Update, hit, [Modified, Invalid, Invalid]),
            (1, Load, miss, [Shared, Shared, Invalid]),
            (2, Load, miss, [Shared, Shared, Shared]),
            (2, Load, hit, [Shared, Shared, Shared]),
            (2, Store, Tally { misses: 1, invalidations: 2, ..none }, [Invalid, Invalid, Modified]),
            (0, Update, Tally { invalidations: 1, ..miss }, [Modified, Invalid, Invalid]),
            (1, Load, miss, [Shared, Shared, Invalid]),
            (2, Update, Tally { invalidations: 2, ..miss }, [Invalid, Invalid, Modified]),
        ];
        for (step, (cpu, operation, expected, after)) in steps.into_iter().enumerate() {
            let access = directory.access(cpu, HERE, operation, step as u64 * 10_000);
            assert_eq!((access.tally, states(&directory)), (expected, after), "step {step}");
        }
    }

    #[test]
    fn requests_for_one_line_queue_up_and_others_do_not_wait() {
        let mut directory = directory();
        let costs = Costs::default();
        directory.access(0, HERE, Store, 0);
        let now = 10_000;
        let first = directory.access(1, HERE, Load, now);
        assert_eq!((first.done_at, first.queue), (now + costs.transfer, 1));
        let second = directory.access(2, HERE + 8, Load, now);
        assert_eq!((second.done_at, second.queue), (now + 2 * costs.transfer, 2));
        // A line that is already shared is handed out faster.
        let third = directory.access(3, HERE, Load, now);
        assert_eq!((third.done_at, third.queue), (now + 2 * costs.transfer + costs.share, 3));
        let elsewhere = directory.access(3, HERE + 64, Load, now);
        assert_eq!((elsewhere.done_at, elsewhere.queue), (now + costs.memory, 1));
        // All requests have been answered by then, and three other copies are invalidated.
        let later = directory.access(0, HERE, Store, 2 * now);
        assert_eq!((later.done_at, later.queue), (2 * now + costs.transfer + 3 * costs.invalidation, 1));
    }

    #[test]
    fn a_pair_of_lines_moves_together_if_asked_to() {
        let mut machine = Machine::new(2);
        for (line_bytes, invalidations) in [(64, 0), (128, 1)] {
            machine.line_bytes = line_bytes;
            let mut directory = Directory::new(&machine);
            directory.access(0, HERE, Store, 0);
            assert_eq!(directory.access(1, HERE + 64, Store, 10_000).tally.invalidations, invalidations);
        }
    }

    #[test]
    fn another_socket_is_farther_away() {
        let mut machine = Machine::new(4);
        machine.sockets = 2;
        let mut directory = Directory::new(&machine);
        directory.access(0, HERE, Store, 0);
        let near = directory.access(1, HERE, Store, 10_000);
        assert_eq!(
            (near.done_at, near.tally.crossed),
            (10_000 + machine.costs.transfer + machine.costs.invalidation, 0)
        );
        let far = directory.access(2, HERE, Store, 20_000);
        let cost = machine.costs.transfer_between_sockets + machine.costs.invalidation;
        assert_eq!((far.done_at, far.tally.crossed), (20_000 + cost, 1));
    }
}
