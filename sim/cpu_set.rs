//! A set of virtual CPUs.

/// The most virtual CPUs that a machine can have.
pub const MAX_CPUS: usize = 512;

const BITS: usize = u64::BITS as usize;

/// Up to [`MAX_CPUS`] CPUs.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct CpuSet([u64; MAX_CPUS / BITS]);

impl CpuSet {
    pub(super) fn insert(&mut self, cpu: usize) {
        self.0[cpu / BITS] |= 1 << (cpu % BITS);
    }

    pub(super) fn without(mut self, cpu: usize) -> Self {
        self.0[cpu / BITS] &= !(1 << (cpu % BITS));
        self
    }

    pub(super) fn contains(&self, cpu: usize) -> bool {
        self.0[cpu / BITS] & (1 << (cpu % BITS)) != 0
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.iter().all(|&word| word == 0)
    }

    pub(super) fn len(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = usize> {
        (0..MAX_CPUS).filter(|&cpu| self.contains(cpu))
    }
}
