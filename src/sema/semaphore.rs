use crate::line::Line;
use crate::wait_table::{Global, Home};
/// x
pub struct Semaphore<H: Home = Global> {
    line: Line<H>,
}
impl Semaphore {
    /// x
    pub const fn new(permits: u64) -> Self {
        Self::new_in(permits)
    }
}
impl<H: Home> Semaphore<H> {
    /// x
    pub const fn new_in(permits: u64) -> Self {
        Self { line: Line::new(permits) }
    }
    /// x
    #[inline]
    pub fn take(&self) {
        self.line.take(1);
    }
    /// x
    #[inline]
    pub fn post(&self) {
        self.line.post()
    }
}
