//! Chance that can be repeated.

#![allow(dead_code, reason = "each test binary uses its own part")]

/// Small, quick, and different for each seed: Marsaglia's xorshift.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: usize) -> Self {
        Self((seed as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    /// Different for each list of numbers.
    pub(crate) fn of(numbers: &[usize]) -> Self {
        let mixed = numbers.iter().fold(0_u64, |mixed, number| {
            (mixed.rotate_left(29) ^ *number as u64).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15)
        });
        Self(mixed | 1)
    }

    /// A number below `bound`.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 32) as usize) % bound
    }

    pub(crate) fn choose<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    /// True once in `of` times.
    pub(crate) fn one_in(&mut self, of: usize) -> bool {
        self.below(of) == 0
    }
}
