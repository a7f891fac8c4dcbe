//! The Mersenne twister that the paper's benchmark steps inside and outside the critical section.

const N: usize = 624;
const M: usize = 397;

/// MT19937 with C++'s seeding (`std::mt19937`).
pub struct Mt19937 {
    state: [u32; N],
    next: usize,
}

impl Mt19937 {
    pub fn new(seed: u32) -> Self {
        let mut state = [0; N];
        state[0] = seed;
        for i in 1..N {
            let before = state[i - 1];
            state[i] = (before ^ (before >> 30)).wrapping_mul(1_812_433_253).wrapping_add(i as u32);
        }
        Self { state, next: N }
    }

    /// One step.
    #[inline]
    pub fn step(&mut self) -> u32 {
        if self.next == N {
            self.twist();
        }
        let y = self.state[self.next];
        self.next += 1;
        let y = y ^ (y >> 11);
        let y = y ^ ((y << 7) & 0x9d2c_5680);
        let y = y ^ ((y << 15) & 0xefc6_0000);
        y ^ (y >> 18)
    }

    #[cold]
    fn twist(&mut self) {
        for i in 0..N {
            let y = (self.state[i] & 0x8000_0000) | (self.state[(i + 1) % N] & 0x7fff_ffff);
            let odd = if y & 1 == 1 { 0x9908_b0df } else { 0 };
            self.state[i] = self.state[(i + M) % N] ^ (y >> 1) ^ odd;
        }
        self.next = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::Mt19937;

    #[test]
    fn it_is_the_standards_mt19937() {
        let mut mt = Mt19937::new(5489);
        let ten_thousandth = (0..10_000).map(|_| mt.step()).last();
        // [rand.predef] of the C++ standard.
        assert_eq!(ten_thousandth, Some(4_123_659_995));
    }
}
